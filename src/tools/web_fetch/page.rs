//! What a page says: HTML as Markdown, text in its character set, images and PDFs as attachments.

use std::thread;

use encoding_rs::{Encoding, UTF_8};
use htmd::HtmlToMarkdown;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::media::mime;
use crate::tools::read::media;
use crate::tools::{Failure, Success, ToolContext};
use crate::web::Page;

/// Elements that are open at once in a page that people read. The converter goes down into each, so
/// deeper ones are only stripped of their tags.
const DEEPEST: usize = 1_000;
/// Stack of the thread that converts: enough for the deepest page in a debug build.
const STACK: usize = 64 << 20;
/// Characters of an error page that the model is shown.
const EXCERPT: usize = 500;
/// Bytes at the beginning in which a page names its character set.
const PROLOGUE: usize = 1_024;

/// Elements that say nothing to a reader.
const SILENT: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "iframe", "object", "head",
];

/// How a page is given back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Form {
    /// As Markdown.
    #[default]
    Markdown,
    /// Its words alone.
    Text,
    /// As it came.
    Html,
}

/// What the model gets.
#[derive(Debug)]
pub(super) enum Read {
    /// Text.
    Text(String),
    /// An attachment, with the line that says so.
    File(Success),
}

/// Reads a page. Blocks while it converts.
pub(super) fn read(page: Page, form: Form, context: &ToolContext) -> Result<Read, Failure> {
    if mime(&page.bytes).is_some() {
        if page.cut {
            return Err(Failure::new(format!(
                "{} is larger than may be fetched (web.max_bytes).",
                page.url
            )));
        }
        return media::keep(&page.url, page.bytes, context)
            .map(Read::File)
            .map_err(Failure::new);
    }
    let is_html = is_html(&page);
    let Some(text) = text(&page) else {
        return Err(Failure::new(format!(
            "{} is not text ({}), so there is nothing to read. Download it with bash if you need it.",
            page.url,
            if page.mime.is_empty() {
                "binary"
            } else {
                &page.mime
            }
        )));
    };
    Ok(Read::Text(match form {
        _ if !is_html => text,
        Form::Html => text,
        Form::Text => strip(&text),
        Form::Markdown => markdown(&text),
    }))
}

/// The first words of an error page.
pub(super) fn excerpt(page: &Page) -> String {
    let text = text(page).unwrap_or_default();
    let text = if is_html(page) { strip(&text) } else { text };
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(EXCERPT).collect()
}

fn is_html(page: &Page) -> bool {
    match page.mime.as_str() {
        "text/html" | "application/xhtml+xml" => true,
        "" | "application/octet-stream" => {
            let begin = page.bytes.trim_ascii_start();
            let begin = begin[..begin.len().min(15)].to_ascii_lowercase();
            begin.starts_with(b"<!doctype html") || begin.starts_with(b"<html")
        }
        _ => false,
    }
}

/// The page as text: by the set that the server named, a byte order mark, what the page says of
/// itself, or a guess. None if it is no text.
fn text(page: &Page) -> Option<String> {
    let sample = &page.bytes[..page.bytes.len().min(8_192)];
    let named = Encoding::for_label(page.charset.as_bytes());
    let wide =
        Encoding::for_bom(sample).is_some() || named.is_some_and(|e| !e.is_ascii_compatible());
    if !wide && sample.contains(&0) {
        return None;
    }
    let encoding = named.or_else(|| declared(sample)).unwrap_or_else(|| {
        if std::str::from_utf8(&page.bytes).is_ok() {
            return UTF_8;
        }
        let mut guess = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
        guess.feed(&page.bytes, true);
        guess.guess(None, chardetng::Utf8Detection::Allow)
    });
    Some(encoding.decode(&page.bytes).0.into_owned())
}

/// `<meta charset=…>`, also in its old form.
fn declared(sample: &[u8]) -> Option<&'static Encoding> {
    let begin = String::from_utf8_lossy(&sample[..sample.len().min(PROLOGUE)]).to_ascii_lowercase();
    let (_, rest) = begin.split_once("charset=")?;
    let label: String = rest
        .trim_start_matches(['"', '\'', ' '])
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .collect();
    Encoding::for_label(label.as_bytes())
}

fn markdown(html: &str) -> String {
    if depth(html) > DEEPEST {
        return strip(html);
    }
    let converted = thread::scope(|scope| {
        thread::Builder::new()
            .name("dunlin-html".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, || {
                let converter = HtmlToMarkdown::builder().skip_tags(SILENT.to_vec()).build();
                converter.convert(html)
            })
            .ok()
            .and_then(|converting| converting.join().ok())
            .and_then(Result::ok)
    });
    let body = converted.unwrap_or_else(|| strip(html));
    match title(html) {
        Some(title) if !has_heading(&body, &title) => format!("# {title}\n\n{body}"),
        _ => body,
    }
}

fn has_heading(markdown: &str, title: &str) -> bool {
    let mut headings = markdown.lines().filter(|line| line.starts_with('#'));
    headings.any(|line| line.trim_start_matches('#').trim() == title)
}

fn title(html: &str) -> Option<String> {
    let mut rest = html;
    loop {
        let (_, tag) = rest.split_once('<')?;
        if tag_name(tag) == "title" {
            let title = after(tag, ">").split('<').next()?.trim();
            return (!title.is_empty()).then(|| unescape(title));
        }
        rest = tag;
    }
}

/// The name of the tag that this text begins with after its `<`, in lower case, with its slash.
fn tag_name(tag: &str) -> String {
    let name = tag
        .chars()
        .enumerate()
        .take_while(|(at, c)| c.is_ascii_alphanumeric() || (*at == 0 && *c == '/'));
    let name = name.take(12).map(|(_, c)| c.to_ascii_lowercase());
    name.collect()
}

/// What follows the first `end`; nothing if there is none.
fn after<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end).map_or("", |(_, rest)| rest)
}

/// What follows the end of the element `name`.
fn after_element<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some((_, tag)) = rest.split_once("</") {
        if tag_name(tag) == name {
            return after(tag, ">");
        }
        rest = tag;
    }
    ""
}

/// An upper bound of how many elements are open at once; those whose end may be left out end by
/// themselves and are not counted.
fn depth(html: &str) -> usize {
    const NOT_COUNTED: &[&str] = &[
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
        "source", "track", "wbr", "p", "li", "dt", "dd", "td", "th", "tr", "option", "thead",
        "tbody", "tfoot", "colgroup", "rp", "rt",
    ];
    let (mut open, mut most) = (0_usize, 0_usize);
    for tag in html.split('<').skip(1) {
        let name = tag_name(tag);
        let (closes, name) = match name.strip_prefix('/') {
            Some(name) => (true, name),
            None => (false, name.as_str()),
        };
        if name.is_empty() || NOT_COUNTED.contains(&name) {
            continue;
        }
        if closes {
            open = open.saturating_sub(1);
        } else {
            open += 1;
            most = most.max(open);
        }
    }
    most
}

/// The words without tags; scripts and styles left out. Takes linear time and no stack.
fn strip(html: &str) -> String {
    const BREAKS: &[&str] = &[
        "p", "/p", "br", "div", "/div", "li", "tr", "/td", "h1", "h2", "h3", "h4", "h5", "h6",
        "/h1", "/h2", "/h3", "/h4", "/h5", "/h6",
    ];
    let mut out = String::new();
    let mut rest = html;
    while let Some((text, tag)) = rest.split_once('<') {
        out.push_str(&unescape(text));
        let name = tag_name(tag);
        rest = if tag.starts_with("!--") {
            after(tag, "-->")
        } else if SILENT.contains(&name.as_str()) {
            after_element(tag, &name)
        } else {
            after(tag, ">")
        };
        if BREAKS.contains(&name.as_str()) {
            out.push('\n');
        }
    }
    out.push_str(&unescape(rest));
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = out.lines().map(words).filter(|l| !l.is_empty()).collect();
    lines.join("\n")
}

fn unescape(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let pairs = [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    pairs.iter().fold(text.to_owned(), |text, (name, plain)| {
        text.replace(name, plain)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(mime: &str, charset: &str, bytes: &[u8]) -> Page {
        Page {
            url: "https://a.b/".to_owned(),
            status: 200,
            mime: mime.to_owned(),
            charset: charset.to_owned(),
            bytes: bytes.to_vec(),
            cut: false,
        }
    }

    #[test]
    fn html_becomes_markdown_without_what_readers_do_not_see() {
        let html = "<html><head><title>A &amp; B</title><style>p{}</style></head><body>\
                    <script>alert(1)</script><h1>Hello</h1><p>Some <b>bold</b> \
                    <a href=\"/x\">link</a>.</p><ul><li>one<li>two</ul>\
                    <pre><code>let x = 1;</code></pre><table><tr><th>k</th><th>v</th></tr>\
                    <tr><td>1</td><td>2</td></tr></table></body></html>";
        let text = markdown(html);
        for wanted in [
            "# A & B",
            "# Hello",
            "**bold**",
            "[link](/x)",
            "one",
            "let x = 1;",
            "| 1",
        ] {
            assert!(text.contains(wanted), "{wanted} is missing in:\n{text}");
        }
        assert!(!text.contains("alert") && !text.contains("p{}"), "{text}");
    }

    #[test]
    fn a_page_that_is_nested_without_end_is_stripped_and_costs_no_stack() {
        let deep = format!(
            "{}core{}",
            "<div>".repeat(200_000),
            "</div>".repeat(200_000)
        );
        assert_eq!(markdown(&deep), "core");
        // Many paragraphs and list items that never close are not deep.
        let flat = format!("<ul>{}</ul>", "<li>x<p>y".repeat(3_000));
        assert!(depth(&flat) < 5);
        // As deep as is converted.
        let limit = format!("{}core{}", "<b>".repeat(DEEPEST), "</b>".repeat(DEEPEST));
        assert!(markdown(&limit).contains("core"));
    }

    #[test]
    fn the_character_set_is_the_servers_the_pages_or_a_guess() {
        let said = |charset: &str, bytes: &[u8]| text(&page("text/html", charset, bytes));
        assert_eq!(said("iso-8859-1", b"caf\xe9").as_deref(), Some("café"));
        assert_eq!(
            said("", b"<meta charset=\"windows-1251\">\xcf\xf0").as_deref(),
            Some("<meta charset=\"windows-1251\">Пр")
        );
        assert_eq!(said("", "naïve".as_bytes()).as_deref(), Some("naïve"));
        assert_eq!(said("", b"\xff\xfea\0b\0").as_deref(), Some("ab"));
        assert_eq!(said("", b"ELF\0\0\x01"), None, "no text");
        assert_eq!(said("nonsense", b"plain").as_deref(), Some("plain"));
    }

    #[test]
    fn stripping_keeps_words_and_their_lines() {
        let text = strip("<h1>A&lt;B</h1><!-- x --><script>no</script><p>c  d<br>e</p><unclosed");
        assert_eq!(text, "A<B\nc d\ne");
    }
}
