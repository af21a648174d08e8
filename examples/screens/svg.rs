//! A terminal's screen as SVG: one text per row, one span per run of a style.

use std::fmt::Write as _;

/// A cell's width and height, and where the text stands in it, in pixels.
const CELL: (f32, f32) = (8.4, 18.0);
const BASELINE: f32 = 13.5;
/// Room around the screen.
const MARGIN: f32 = 14.0;

type Rgb = (u8, u8, u8);

const PAPER: Rgb = (0x16, 0x18, 0x1c);
const INK: Rgb = (0xd6, 0xd9, 0xdf);

/// The terminal's own 16 colours, for programs that name them.
const NAMED: [Rgb; 16] = [
    (0x2b, 0x30, 0x3b),
    (0xe0, 0x6c, 0x75),
    (0x98, 0xc3, 0x79),
    (0xe5, 0xc0, 0x7b),
    (0x61, 0xaf, 0xef),
    (0xc6, 0x78, 0xdd),
    (0x56, 0xb6, 0xc2),
    (0xab, 0xb2, 0xbf),
    (0x5c, 0x63, 0x70),
    (0xef, 0x7a, 0x83),
    (0xa9, 0xd3, 0x8a),
    (0xf0, 0xcc, 0x8a),
    (0x74, 0xbd, 0xf7),
    (0xd5, 0x8a, 0xe8),
    (0x6a, 0xc7, 0xd3),
    (0xff, 0xff, 0xff),
];

/// How a run looks.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Look {
    ink: Rgb,
    paper: Option<Rgb>,
    bold: bool,
    italic: bool,
    underline: bool,
}

/// The screen with its cursor.
pub(crate) fn of(screen: &vt100::Screen) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let width = f32::from(columns) * CELL.0 + 2.0 * MARGIN;
    let height = f32::from(rows) * CELL.1 + 2.0 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace\" \
         font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"{}\"/>\n",
        hex(PAPER)
    );
    for row in 0..rows {
        draw_row(screen, row, columns, &mut out);
    }
    if !screen.hide_cursor() {
        let (row, column) = screen.cursor_position();
        let (x, y) = corner(row, column);
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"2\" height=\"{}\" fill=\"{}\"/>",
            CELL.1,
            hex(INK)
        );
    }
    out.push_str("</svg>\n");
    out
}

fn corner(row: u16, column: u16) -> (f32, f32) {
    (
        MARGIN + f32::from(column) * CELL.0,
        MARGIN + f32::from(row) * CELL.1,
    )
}

/// The runs of a row: first column, columns, text, look.
fn runs(screen: &vt100::Screen, row: u16, columns: u16) -> Vec<(u16, u16, String, Look)> {
    let mut runs: Vec<(u16, u16, String, Look)> = Vec::new();
    for column in 0..columns {
        let Some(cell) = screen
            .cell(row, column)
            .filter(|c| !c.is_wide_continuation())
        else {
            continue;
        };
        let look = look(cell);
        let wide = if cell.is_wide() { 2 } else { 1 };
        let text = if cell.has_contents() {
            cell.contents()
        } else {
            " "
        };
        match runs.last_mut() {
            Some((from, count, all, same)) if *same == look && *from + *count == column => {
                all.push_str(text);
                *count += wide;
            }
            _ => runs.push((column, wide, text.to_owned(), look)),
        }
    }
    runs
}

fn draw_row(screen: &vt100::Screen, row: u16, columns: u16, out: &mut String) {
    let mut spans = String::new();
    for (column, count, text, look) in runs(screen, row, columns) {
        let (x, y) = corner(row, column);
        if let Some(paper) = look.paper {
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{}\" fill=\"{}\"/>",
                f32::from(count) * CELL.0,
                CELL.1,
                hex(paper)
            );
        }
        if text.trim().is_empty() {
            continue;
        }
        // A run keeps its columns whatever font is there: its length is given.
        let shown = text.trim_end();
        let blanks = (text.chars().count() - shown.chars().count()) as u16;
        let length = f32::from(count - blanks) * CELL.0;
        let _ = write!(
            spans,
            "<tspan x=\"{x:.1}\" textLength=\"{length:.1}\" fill=\"{}\"",
            hex(look.ink)
        );
        for (on, words) in [
            (look.bold, " font-weight=\"bold\""),
            (look.italic, " font-style=\"italic\""),
            (look.underline, " text-decoration=\"underline\""),
        ] {
            if on {
                spans.push_str(words);
            }
        }
        let _ = write!(spans, ">{}</tspan>", escaped(shown));
    }
    if !spans.is_empty() {
        let (_, y) = corner(row, 0);
        let _ = writeln!(
            out,
            "<text y=\"{:.1}\" xml:space=\"preserve\">{spans}</text>",
            y + BASELINE
        );
    }
}

fn look(cell: &vt100::Cell) -> Look {
    let paper = rgb(cell.bgcolor());
    let ink = rgb(cell.fgcolor()).unwrap_or(INK);
    let (ink, paper) = if cell.inverse() {
        (paper.unwrap_or(PAPER), Some(ink))
    } else {
        (ink, paper)
    };
    Look {
        ink: if cell.dim() { faded(ink) } else { ink },
        paper,
        bold: cell.bold(),
        italic: cell.italic(),
        underline: cell.underline(),
    }
}

fn rgb(color: vt100::Color) -> Option<Rgb> {
    match color {
        vt100::Color::Default => None,
        vt100::Color::Rgb(r, g, b) => Some((r, g, b)),
        vt100::Color::Idx(n @ 0..16) => NAMED.get(usize::from(n)).copied(),
        vt100::Color::Idx(n @ 16..232) => {
            let step = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let n = n - 16;
            Some((step(n / 36), step(n / 6 % 6), step(n % 6)))
        }
        vt100::Color::Idx(n) => {
            let grey = 8 + 10 * (n - 232);
            Some((grey, grey, grey))
        }
    }
}

/// Halfway to the paper.
fn faded((r, g, b): Rgb) -> Rgb {
    let mix = |ink: u8, paper: u8| ((u16::from(ink) * 58 + u16::from(paper) * 42) / 100) as u8;
    (mix(r, PAPER.0), mix(g, PAPER.1), mix(b, PAPER.2))
}

fn hex((r, g, b): Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
