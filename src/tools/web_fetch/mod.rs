//! `web_fetch`: a page of the web as text for the model.
//!
//! `tool` is what the model calls, `page` turns what came into text or an attachment. Reaching the
//! page, and what may be reached, is `crate::web`'s business.

mod page;
mod tool;

pub use tool::WebFetch;

#[cfg(test)]
mod tests;
