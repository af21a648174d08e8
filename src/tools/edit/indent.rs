//! Fits the indentation of new lines to the file's, learnt from the lines that matched. Pure.

use super::find::indent;

/// Pairs of indentations: what the model wrote, what the file has.
#[derive(Debug, Default)]
pub(super) struct Indents {
    pairs: Vec<(String, String)>,
}

impl Indents {
    /// Learns from pairs of lines: the model's, the file's.
    pub(super) fn learn<'a>(lines: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (old, file) in lines {
            if old.trim().is_empty() || file.trim() != old.trim() {
                continue;
            }
            let pair = (indent(old).to_owned(), indent(file).to_owned());
            if !pairs.iter().any(|(known, _)| *known == pair.0) {
                pairs.push(pair);
            }
        }
        pairs.sort_by_key(|(old, _)| old.len());
        Self { pairs }
    }

    /// The line with the indentation it should have in the file.
    pub(super) fn fit(&self, line: &str) -> String {
        if line.trim().is_empty() || self.pairs.iter().all(|(old, file)| old == file) {
            return line.to_owned();
        }
        let have = indent(line);
        let body = line.trim_start();
        if let Some((_, file)) = self.pairs.iter().find(|(old, _)| old == have) {
            return format!("{file}{body}");
        }
        let deeper = self
            .pairs
            .iter()
            .rev()
            .find(|(old, _)| have.starts_with(old.as_str()));
        if let Some((old, file)) = deeper {
            let more = have.get(old.len()..).unwrap_or_default();
            return format!("{file}{}{body}", self.convert(more));
        }
        let Some((old, file)) = self.pairs.first() else {
            return line.to_owned();
        };
        // shallower than every line that matched
        let less = old.len().saturating_sub(have.len());
        let less = self.convert(old.get(..less).unwrap_or_default()).len();
        let kept = file.len().saturating_sub(less);
        format!("{}{body}", file.get(..kept).unwrap_or_default())
    }

    /// Additional indentation in the file's own characters and width.
    fn convert(&self, more: &str) -> String {
        let tabs = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte == b'\t');
        let spaces = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte == b' ');
        // two depths tell the unit; one depth does too if it is not zero
        let zero = (String::new(), String::new());
        let depths = self.pairs.iter().rev().flat_map(|deep| {
            let seen = self.pairs.iter().map(|shallow| (shallow, true));
            seen.chain([(&zero, false)])
                .map(move |(shallow, seen)| (shallow, seen, deep))
        });
        for (shallow, seen, deep) in depths {
            let (Some(old), Some(file)) = (
                deep.0.strip_prefix(shallow.0.as_str()),
                deep.1.strip_prefix(shallow.1.as_str()),
            ) else {
                continue;
            };
            let same_kind = (spaces(old) && spaces(more)) || (tabs(old) && tabs(more));
            let known = same_kind && (tabs(file) || spaces(file));
            // without a second depth a shift of the whole block looks like a unit of its own
            let unit = seen || tabs(old) != tabs(file);
            if known && unit && (more.len() * file.len()).is_multiple_of(old.len()) {
                let char = file.get(..1).unwrap_or(" ");
                return char.repeat(more.len() * file.len() / old.len());
            }
        }
        more.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(pairs: &[(&str, &str)], line: &str) -> String {
        Indents::learn(pairs.iter().copied()).fit(line)
    }

    #[test]
    fn a_shifted_block_shifts_new_lines_too() {
        let pairs = [("if x:", "    if x:"), ("    y()", "        y()")];
        assert_eq!(fit(&pairs, "    z()"), "        z()");
        assert_eq!(fit(&pairs, "        deep()"), "            deep()");
        assert_eq!(fit(&[("  a", "      a")], "    b"), "        b");
        assert_eq!(fit(&[("      a", "  a")], "    b"), "b");
    }

    #[test]
    fn spaces_become_tabs_and_other_widths_where_the_file_has_them() {
        let pairs = [("if x {", "if x {"), ("    y()", "\ty()")];
        assert_eq!(fit(&pairs, "        deep()"), "\t\tdeep()");
        assert_eq!(fit(&[("    y()", "\ty()")], "        deep()"), "\t\tdeep()");
        let pairs = [("if x {", "if x {"), ("    y()", "  y()")];
        assert_eq!(fit(&pairs, "        deep()"), "    deep()");
    }

    #[test]
    fn equal_indentation_and_blank_lines_stay() {
        assert_eq!(fit(&[("  a", "  a")], "   b"), "   b");
        assert_eq!(fit(&[("a", "  a")], ""), "");
    }
}
