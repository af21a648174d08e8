//! Settings of the screen: `[ui]`.
//!
//! Rows of the table in `keys`; nothing else belongs here.

use super::{Key, key};
use crate::config::kind::Kind;

/// How pictures can be shown.
const PICTURES: &[&str] = &["auto", "off", "blocks", "kitty", "iterm", "sixel"];

pub(super) const KEYS: &[Key] = &[
    key(
        "ui.theme",
        Kind::Text(|c, _| &mut c.ui.theme),
        "Name of the theme; auto takes dark or light by the terminal's background.",
    ),
    key(
        "ui.mouse",
        Kind::Bool(|c, _| &mut c.ui.mouse),
        "False gives the terminal its own selection back.",
    ),
    key(
        "ui.copy_on_select",
        Kind::Bool(|c, _| &mut c.ui.copy_on_select),
        "Copy a selection as soon as it is made.",
    ),
    key(
        "ui.reduced_motion",
        Kind::Bool(|c, _| &mut c.ui.reduced_motion),
        "No spinner, no motion.",
    ),
    key(
        "ui.vim",
        Kind::Bool(|c, _| &mut c.ui.vim),
        "Vim keys in the composer.",
    ),
    key(
        "ui.plain",
        Kind::Bool(|c, _| &mut c.ui.plain),
        "Append-only output in place of the full screen.",
    ),
    key(
        "ui.notify",
        Kind::Bool(|c, _| &mut c.ui.notify),
        "Notify when the terminal is not in front.",
    ),
    key(
        "ui.images",
        Kind::Choice(|c, _| &mut c.ui.images, PICTURES),
        "How pictures are shown; auto asks the terminal, blocks makes them of coloured halves of cells.",
    ),
    key(
        "ui.links",
        Kind::Bool(|c, _| &mut c.ui.links),
        "Addresses and file names that the terminal opens with a click.",
    ),
    key(
        "ui.keys",
        Kind::WordsMap(|c, _| &mut c.ui.keys),
        "Keys: the name of an action and the keys that do it, over the defaults.",
    ),
];
