//! `dunlin config`: each value and where it came from, as aligned text or JSON.

use super::load::{Loaded, Setting};

/// The source of what nobody set.
const BUILT_IN: &str = "built-in";

/// The table that `dunlin config` prints: key, value, source, one setting per line, then the
/// warnings. `changed_only` leaves out what is built in.
pub fn explain(loaded: &Loaded, changed_only: bool) -> String {
    let rows: Vec<&Setting> = loaded
        .sources
        .iter()
        .filter(|s| !changed_only || s.source != BUILT_IN)
        .collect();
    let width = |of: fn(&Setting) -> &str| {
        rows.iter()
            .map(|s| of(s).chars().count())
            .max()
            .unwrap_or(0)
    };
    let key_width = width(|s| &s.key);
    let value_width = width(|s| shown(s)).min(48);
    let mut out = String::new();
    for row in rows {
        let line = format!(
            "{:key_width$}  {:value_width$}  {}",
            row.key,
            shown(row),
            row.source
        );
        out.push_str(line.trim_end());
        out.push('\n');
    }
    for warning in &loaded.warnings {
        out.push_str("warning: ");
        out.push_str(warning);
        out.push('\n');
    }
    out
}

/// The same as JSON: `{"settings": [{key, value, source}], "warnings": [..]}`.
pub fn explain_json(loaded: &Loaded, changed_only: bool) -> serde_json::Value {
    let rows = loaded.sources.iter();
    let rows: Vec<&Setting> = rows
        .filter(|s| !changed_only || s.source != BUILT_IN)
        .collect();
    serde_json::json!({ "settings": rows, "warnings": loaded.warnings })
}

fn shown(setting: &Setting) -> &str {
    if setting.value.is_empty() {
        "(none)"
    } else {
        &setting.value
    }
}
