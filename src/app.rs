//! The composition root: builds everything and passes it in.
