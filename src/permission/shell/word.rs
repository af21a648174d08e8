//! One word of a command: what is known of its value before the shell runs.

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// These characters, exactly.
    Text(String),
    /// `*`, `?` or `[`, to be matched against file names.
    Glob(char),
    /// The value of a variable.
    Var {
        /// Its name.
        name: String,
        /// True inside double quotes: the value stays one word.
        quoted: bool,
    },
    /// Something only the shell will know.
    Unknown,
}

/// A word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// What is known.
    pub pieces: Vec<Piece>,
    /// As typed.
    pub raw: String,
    /// True if it begins with an unquoted `~`.
    pub tilde: bool,
}

impl Word {
    /// A word that is exactly this text.
    pub fn literal(text: &str) -> Self {
        Self {
            pieces: vec![Piece::Text(text.to_owned())],
            raw: text.to_owned(),
            tilde: false,
        }
    }

    /// A word of which nothing is known.
    pub fn unknown(raw: &str) -> Self {
        Self {
            pieces: vec![Piece::Unknown],
            raw: raw.to_owned(),
            tilde: false,
        }
    }

    /// Adds text, joined with text before it.
    pub fn push_text(&mut self, text: &str) {
        if let Some(Piece::Text(last)) = self.pieces.last_mut() {
            last.push_str(text);
        } else {
            self.pieces.push(Piece::Text(text.to_owned()));
        }
    }

    /// The value, if it is known exactly.
    pub fn text(&self) -> Option<String> {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                _ => return None,
            }
        }
        Some(out)
    }

    /// The value with `*`, `?`, `[` standing as they do, if nothing else is unknown.
    pub fn pattern(&self) -> Option<String> {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Glob(c) => out.push(*c),
                Piece::Var { .. } | Piece::Unknown => return None,
            }
        }
        Some(out)
    }

    /// What it begins with for certain.
    pub fn prefix(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    /// True if it is known to begin with `-`.
    pub fn is_flag(&self) -> bool {
        self.prefix().starts_with('-')
    }

    /// True if it might turn out to be a flag.
    pub fn may_be_flag(&self) -> bool {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text.starts_with('-') || text.is_empty(),
            // a file named `-delete` is as good as the flag
            Some(Piece::Glob(_) | Piece::Var { .. } | Piece::Unknown) => true,
            None => false,
        }
    }

    /// True if it may hold a file-name pattern.
    pub fn has_glob(&self) -> bool {
        self.pieces.iter().any(|p| matches!(p, Piece::Glob(_)))
    }

    /// The word as rules see it: quotes gone, but quoted `*`, `?` and `[` told from patterns by a
    /// backslash; what is unknown as typed.
    pub fn as_rule(&self) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => {
                    for c in text.chars() {
                        if matches!(c, '*' | '?' | '[') {
                            out.push('\\');
                        }
                        out.push(c);
                    }
                }
                Piece::Glob(c) => out.push(*c),
                Piece::Var { .. } | Piece::Unknown => return self.raw.clone(),
            }
        }
        out
    }

    /// The word as normal text: quotes gone, what is unknown as typed.
    pub fn shown(&self) -> String {
        self.pattern().unwrap_or_else(|| self.raw.clone())
    }
}

/// Values of `{a,b}` in a word, braces taken apart; the word itself if it has none. More than 64
/// values, or nesting, make it unknown.
pub fn expand_braces(word: &Word) -> Vec<Word> {
    let Some(at) = word.pieces.iter().position(|p| *p == Piece::Glob('{')) else {
        return vec![word.clone()];
    };
    let close = word
        .pieces
        .iter()
        .skip(at)
        .position(|p| *p == Piece::Glob('}'));
    let Some(close) = close.map(|c| at + c) else {
        return vec![plain_braces(word)];
    };
    let inner = &word.pieces[at + 1..close];
    if inner.contains(&Piece::Glob('{')) {
        return vec![Word::unknown(&word.raw)];
    }
    if !inner.contains(&Piece::Glob(',')) {
        return match sequence(inner) {
            Sequence::None => vec![plain_braces(word)],
            Sequence::Values(values) => values
                .iter()
                .flat_map(|value| {
                    expand_braces(&in_place(word, at, close, &[Piece::Text(value.clone())]))
                })
                .collect(),
            Sequence::Unknown => vec![Word::unknown(&word.raw)],
        };
    }
    let mut values = Vec::new();
    for choice in inner.split(|p| *p == Piece::Glob(',')) {
        values.extend(expand_braces(&in_place(word, at, close, choice)));
        if values.len() > 64 {
            return vec![Word::unknown(&word.raw)];
        }
    }
    values
}

/// The word with the pieces from one brace to the other replaced.
fn in_place(word: &Word, open: usize, close: usize, choice: &[Piece]) -> Word {
    let mut value = Word {
        raw: word.raw.clone(),
        tilde: word.tilde,
        pieces: Vec::new(),
    };
    let parts = [&word.pieces[..open], choice, &word.pieces[close + 1..]];
    for piece in parts.into_iter().flatten() {
        match piece {
            Piece::Text(text) => value.push_text(text),
            other => value.pieces.push(other.clone()),
        }
    }
    value
}

/// What stands between braces without a comma.
enum Sequence {
    /// No sequence.
    None,
    /// One that is not followed.
    Unknown,
    /// Its values.
    Values(Vec<String>),
}

/// `1..9` and `a..f` between braces.
fn sequence(inner: &[Piece]) -> Sequence {
    let [Piece::Text(text)] = inner else {
        let dots = inner
            .iter()
            .any(|p| matches!(p, Piece::Text(text) if text.contains("..")));
        return if dots {
            Sequence::Unknown
        } else {
            Sequence::None
        };
    };
    let Some((from, to)) = text.split_once("..") else {
        return Sequence::None;
    };
    let number = |text: &str| {
        let plain = text == "0" || !text.trim_start_matches('-').starts_with('0');
        text.parse::<i64>().ok().filter(|_| plain && text.len() < 8)
    };
    if let (Some(from), Some(to)) = (number(from), number(to)) {
        let (low, high) = (from.min(to), from.max(to));
        if high - low < 64 {
            return Sequence::Values((low..=high).map(|n| n.to_string()).collect());
        }
        return Sequence::Unknown;
    }
    let letter = |text: &str| match text.as_bytes() {
        [one] if one.is_ascii_lowercase() => Some(*one),
        _ => None,
    };
    if let (Some(from), Some(to)) = (letter(from), letter(to)) {
        let all = from.min(to)..=from.max(to);
        return Sequence::Values(all.map(|b| char::from(b).to_string()).collect());
    }
    Sequence::Unknown
}

/// Braces that expand to nothing are characters like any other.
fn plain_braces(word: &Word) -> Word {
    let mut plain = Word {
        raw: word.raw.clone(),
        tilde: word.tilde,
        pieces: Vec::new(),
    };
    for piece in &word.pieces {
        match piece {
            Piece::Glob(c @ ('{' | '}' | ',')) => plain.push_text(&c.to_string()),
            Piece::Text(text) => plain.push_text(text),
            other => plain.pieces.push(other.clone()),
        }
    }
    plain
}

/// The characters of unquoted text: backslashes taken out, globs and braces marked.
pub fn push_unquoted(word: &mut Word, text: &str) {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(c) => word.push_text(&c.to_string()),
            },
            '*' | '?' | '[' | '{' | '}' => word.pieces.push(Piece::Glob(c)),
            ',' if word.pieces.contains(&Piece::Glob('{')) => word.pieces.push(Piece::Glob(c)),
            '~' if word.pieces.is_empty() => {
                word.tilde = true;
                word.push_text("~");
            }
            c => word.push_text(&c.to_string()),
        }
    }
}

/// The characters of `$'…'`, as far as its escapes are the common ones; none otherwise.
pub fn ansi_c(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next()? {
            'n' => '\n',
            't' => '\t',
            c @ ('\\' | '\'' | '"' | '?') => c,
            'x' => {
                let digits: String = chars.by_ref().take(2).collect();
                let code = u8::from_str_radix(&digits, 16)
                    .ok()
                    .filter(|_| digits.len() == 2)?;
                char::from(code)
            }
            _ => return None,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unquoted(text: &str) -> Word {
        let mut word = Word {
            raw: text.to_owned(),
            ..Word::default()
        };
        push_unquoted(&mut word, text);
        word
    }

    #[test]
    fn braces_make_several_words() {
        let values = |text: &str| -> Vec<String> {
            expand_braces(&unquoted(text))
                .iter()
                .map(Word::shown)
                .collect()
        };
        assert_eq!(
            values("/{etc,usr}/x{1,2}"),
            ["/etc/x1", "/etc/x2", "/usr/x1", "/usr/x2"]
        );
        assert_eq!(values("a{b}c"), ["a{b}c"]);
        assert_eq!(values("f{1..3}"), ["f1", "f2", "f3"]);
        assert_eq!(values(".en{v..v}"), [".env"]);
        for unknown in ["{1..900}", "{A..z}", "{1..9..2}", "{01..03}"] {
            let words = expand_braces(&unquoted(unknown));
            assert_eq!(words, [Word::unknown(unknown)], "{unknown}");
        }
        assert_eq!(values("{}"), ["{}"]);
        assert_eq!(
            expand_braces(&unquoted("{a,{b,c}}")),
            vec![Word::unknown("{a,{b,c}}")]
        );
        assert_eq!(values("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}").len(), 1);
    }

    #[test]
    fn backslashes_hide_nothing() {
        assert_eq!(unquoted("\\r\\m").text().as_deref(), Some("rm"));
        assert_eq!(ansi_c("\\x72m").as_deref(), Some("rm"));
        assert_eq!(ansi_c("\\u0072m"), None);
    }
}
