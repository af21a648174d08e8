//! A Jupyter notebook as text: cells with their sources and their text outputs.

use std::fmt::Write as _;

use serde_json::Value;

/// Characters of one output that are shown.
const MOST_OUTPUT: usize = 4_000;

/// The notebook as text; none if it is not one.
pub(super) fn render(text: &str) -> Option<String> {
    let notebook: Value = serde_json::from_str(text).ok()?;
    let cells = notebook.get("cells")?.as_array()?;
    let mut out = String::new();
    for (index, cell) in cells.iter().enumerate() {
        let kind = cell
            .get("cell_type")
            .and_then(Value::as_str)
            .unwrap_or("code");
        _ = writeln!(out, "# Cell {} ({kind})", index + 1);
        let source = joined(cell.get("source"));
        out.push_str(source.trim_end());
        out.push('\n');
        for output in cell
            .get("outputs")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            show(output, &mut out);
        }
        out.push('\n');
    }
    Some(out)
}

fn show(output: &Value, out: &mut String) {
    let data = output.get("data");
    let text = match output.get("output_type").and_then(Value::as_str) {
        Some("stream") => joined(output.get("text")),
        Some("error") => {
            let field = |name: &str| output.get(name).and_then(Value::as_str).unwrap_or_default();
            format!("{}: {}", field("ename"), field("evalue"))
        }
        _ => joined(data.and_then(|data| data.get("text/plain"))),
    };
    out.push_str("## Output\n");
    let shown: String = text.chars().take(MOST_OUTPUT).collect();
    out.push_str(shown.trim_end());
    out.push('\n');
    if shown.len() < text.len() {
        _ = writeln!(out, "({} more bytes)", text.len() - shown.len());
    }
    let media = data.and_then(Value::as_object).into_iter().flatten();
    for (mime, _) in media.filter(|(mime, _)| mime.starts_with("image/")) {
        _ = writeln!(out, "({mime}, not shown)");
    }
}

/// Notebooks keep texts as lists of lines.
fn joined(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}
