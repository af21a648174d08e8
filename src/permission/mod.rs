//! May it run? Pure.
