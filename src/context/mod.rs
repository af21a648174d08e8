//! What the model is shown. Pure.
