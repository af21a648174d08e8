//! TOML as it was typed: values with the line each stands on, tables in the order of the file.
//!
//! `load` and `rules` read this; order matters to permission rules (last match wins), lines matter
//! to every complaint. No meaning is given to a key here.

use toml::de::{DeTable, DeValue};

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Typed {
    /// Line of the value's key, from 1; 0 where there is no file.
    pub line: usize,
    /// What was typed.
    pub value: TypedValue,
}

/// What was typed.
#[derive(Debug, Clone, PartialEq)]
pub enum TypedValue {
    /// A string.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// A date or time; no setting wants one.
    Date(String),
    /// An array.
    List(Vec<Typed>),
    /// A table, in the order of the file.
    Table(Vec<(String, Typed)>),
}

/// A file that is not TOML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Line, from 1.
    pub line: usize,
    /// What the parser says, one line.
    pub message: String,
}

/// Parses a TOML document. Every syntax error that the parser can recover from is reported.
pub fn parse(text: &str) -> Result<Vec<(String, Typed)>, Vec<SyntaxError>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = LineIndex::new(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(convert_table(table.get_ref(), &lines));
    }
    Err(errors
        .iter()
        .map(|e| SyntaxError {
            line: e.span().map_or(1, |span| lines.line(span.start)),
            message: e.message().lines().collect::<Vec<_>>().join(", "),
        })
        .collect())
}

/// Parses one value, as after the `=` of `--config KEY=VALUE`; none if it is not TOML.
pub fn parse_value(text: &str) -> Option<TypedValue> {
    let value = DeValue::parse(text.trim()).ok()?;
    let none = LineIndex { starts: Vec::new() };
    Some(convert(value.get_ref(), 0, &none).value)
}

impl TypedValue {
    /// What it is, for complaints: `a string`, `a table`, ….
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Int(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Bool(_) => "true or false",
            Self::Date(_) => "a date",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }

    /// The value on one line, as it could be typed.
    pub fn show(&self) -> String {
        match self {
            Self::Text(text) => format!("{text:?}"),
            Self::Int(n) => n.to_string(),
            Self::Float(n) => n.to_string(),
            Self::Bool(b) => b.to_string(),
            Self::Date(text) => text.clone(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|i| i.value.show()).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Table(entries) => {
                let entries: Vec<String> = entries
                    .iter()
                    .map(|(k, v)| format!("{} = {}", show_key(k), v.value.show()))
                    .collect();
                format!("{{ {} }}", entries.join(", "))
            }
        }
    }
}

/// A string as TOML source, on as many lines as it needs.
pub fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A key as it would be typed: quoted where TOML needs it.
pub fn show_key(key: &str) -> String {
    let bare = !key.is_empty()
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if bare {
        key.to_owned()
    } else {
        format!("{key:?}")
    }
}

/// A dotted key as it would be typed.
pub fn show_path(path: &[String]) -> String {
    let keys: Vec<String> = path.iter().map(|k| show_key(k)).collect();
    keys.join(".")
}

fn convert_table(table: &DeTable<'_>, lines: &LineIndex) -> Vec<(String, Typed)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
        .into_iter()
        .map(|(key, value)| {
            let line = lines.line(key.span().start);
            let name = key.get_ref().clone().into_owned();
            (name, convert(value.get_ref(), line, lines))
        })
        .collect()
}

fn convert(value: &DeValue<'_>, line: usize, lines: &LineIndex) -> Typed {
    let value = match value {
        DeValue::String(text) => TypedValue::Text(text.clone().into_owned()),
        DeValue::Integer(n) => {
            let digits = n.as_str().replace('_', "");
            i64::from_str_radix(&digits, n.radix())
                .map_or_else(|_| TypedValue::Text(n.as_str().to_owned()), TypedValue::Int)
        }
        DeValue::Float(n) => n.as_str().replace('_', "").parse().map_or_else(
            |_| TypedValue::Text(n.as_str().to_owned()),
            TypedValue::Float,
        ),
        DeValue::Boolean(b) => TypedValue::Bool(*b),
        DeValue::Datetime(date) => TypedValue::Date(date.to_string()),
        DeValue::Array(items) => TypedValue::List(
            items
                .iter()
                .map(|item| {
                    let line = if lines.starts.is_empty() {
                        line
                    } else {
                        lines.line(item.span().start)
                    };
                    convert(item.get_ref(), line, lines)
                })
                .collect(),
        ),
        DeValue::Table(table) => TypedValue::Table(convert_table(table, lines)),
    };
    Typed { line, value }
}

struct LineIndex {
    starts: Vec<usize>,
}

impl LineIndex {
    fn new(text: &str) -> Self {
        let newlines = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        Self {
            starts: std::iter::once(0).chain(newlines).collect(),
        }
    }

    fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_keep_the_order_of_the_file_and_lines_are_right() {
        let text = "# c\nz = 1\n[b]\n\"x y\" = true\na = [1,\n 2.5]\n";
        let doc = parse(text).expect("valid");
        assert_eq!(doc[0].0, "z");
        assert_eq!(doc[0].1.line, 2);
        let TypedValue::Table(b) = &doc[1].1.value else {
            panic!("b is a table")
        };
        assert_eq!(b[0].0, "x y");
        assert_eq!(b[0].1.line, 4);
        assert_eq!(b[1].1.line, 5);
        let TypedValue::List(items) = &b[1].1.value else {
            panic!("a is a list")
        };
        assert_eq!(
            items[1],
            Typed {
                line: 6,
                value: TypedValue::Float(2.5)
            }
        );
    }

    #[test]
    fn every_syntax_error_has_its_line() {
        let errors = parse("ok = 1\nbroken = = 2\nfine = 3\nalso = [1\n").expect_err("broken");
        assert_eq!(errors[0].line, 2, "{errors:?}");
        assert!(!errors[0].message.is_empty());
    }

    #[test]
    fn values_show_as_they_could_be_typed() {
        let value = parse_value("{ \"a b\" = [1, 'x'], c = 0x10 }").expect("a value");
        assert_eq!(value.show(), "{ \"a b\" = [1, \"x\"], c = 16 }");
        assert_eq!(parse_value("anthropic/claude"), None);
    }
}
