//! What a picture becomes: sizes, refusals, what is asked for and what is held.

use super::*;

/// Who draws a test picture.
#[cfg(feature = "images")]
fn png(width: u32, height: u32) -> bytes::Bytes {
    let image = image::RgbImage::from_fn(width, height, |x, y| {
        image::Rgb([(x * 7) as u8, (y * 5) as u8, (x * y) as u8])
    });
    let mut bytes = std::io::Cursor::new(Vec::new());
    image
        .write_to(&mut bytes, image::ImageFormat::Png)
        .expect("encoded");
    bytes.into_inner().into()
}

fn canvas(way: Way) -> Canvas {
    Canvas {
        way,
        ..Canvas::default()
    }
}

fn source(name: &str) -> FileSource {
    FileSource::Path(name.to_owned())
}

/// Waits for the worker.
fn settle(pictures: &mut Pictures) {
    let begun = std::time::Instant::now();
    while !pictures.poll() {
        assert!(begun.elapsed().as_secs() < 60, "the worker never answered");
        std::thread::yield_now();
    }
}

#[cfg(feature = "images")]
#[test]
fn a_picture_is_asked_for_once_and_then_shown() {
    let mut pictures = Pictures::default();
    pictures.set_canvas(canvas(Way::HalfBlocks));
    let most = (48, 12);
    assert!(matches!(pictures.look(&source("a"), most), Look::Coming));
    assert!(matches!(pictures.look(&source("a"), most), Look::Coming));
    assert_eq!(pictures.wanted(), [source("a")]);
    assert_eq!(pictures.wanted(), []);
    pictures.came(&source("a"), Some(&png(200, 100)));
    settle(&mut pictures);
    let Look::Ready(made) = pictures.look(&source("a"), most) else {
        panic!("it is there");
    };
    assert_eq!((made.cols, made.rows, made.pixels), (20, 5, (200, 100)));
    assert_eq!(made.halves.len(), 20 * 10);
    assert!(pictures.shown(made.id).is_some());
}

#[cfg(feature = "images")]
#[test]
fn the_shape_is_kept_and_the_cells_are_bounded() {
    let cell = (10, 20);
    assert_eq!(make::cells((1_000, 1_000), (48, 12), cell), (24, 12));
    assert_eq!(make::cells((4_000, 100), (48, 12), cell), (48, 1));
    assert_eq!(make::cells((1, 16_000), (48, 12), cell), (1, 12));
    assert_eq!(make::cells((16, 16), (48, 12), cell), (8, 4), "enlarged");
    assert_eq!(make::cells((300, 200), (120, 30), cell), (30, 10));
}

#[test]
fn nothing_is_asked_for_where_nothing_is_shown() {
    let mut pictures = Pictures::default();
    assert!(matches!(pictures.look(&source("a"), (48, 12)), Look::Words));
    assert_eq!(pictures.wanted(), []);
}

#[cfg(feature = "images")]
#[test]
fn what_is_no_picture_or_claims_too_much_is_refused_with_the_reason() {
    // A PNG's first bytes, claiming a size that nobody could hold.
    let mut huge = png(1, 1).to_vec();
    huge[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
    let torn = png(300, 300).slice(..400);
    let cases = [
        (bytes::Bytes::from(huge), "too many"),
        (torn, "damaged"),
        (bytes::Bytes::from_static(b"<svg/>"), "format"),
        (bytes::Bytes::new(), "format"),
    ];
    for (bytes, reason) in cases {
        let made = make::picture(&bytes, (48, 12), &canvas(Way::HalfBlocks));
        let why = made.expect_err(reason);
        // A broken checksum may be found before the claim is read.
        assert!(
            why.contains(reason) || why.contains("format"),
            "{why} / {reason}"
        );
    }
}

#[cfg(feature = "images")]
#[test]
fn a_claim_with_a_good_checksum_is_refused_before_anything_is_decoded() {
    // 20000×20000 with a valid header: signature, IHDR, its checksum, the beginning of the data.
    let mut header = b"IHDR\x00\x00\x4e\x20\x00\x00\x4e\x20\x08\x06\x00\x00\x00".to_vec();
    let sum = crc32fast::hash(&header).to_be_bytes();
    let mut bytes = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0d".to_vec();
    bytes.append(&mut header);
    bytes.extend_from_slice(&sum);
    bytes.extend_from_slice(b"\x00\x00\x00\x01IDAT\x00");
    let made = make::picture(&bytes, (48, 12), &canvas(Way::Kitty));
    assert_eq!(
        made.expect_err("refused"),
        "20000×20000 pixels are too many"
    );
}

#[cfg(feature = "images")]
#[test]
fn bytes_for_the_terminal_are_bounded_and_one_string_of_its_protocol() {
    let bytes = png(1_600, 1_200);
    for way in [Way::Kitty, Way::Iterm, Way::Sixel] {
        let made = make::picture(&bytes, (120, 30), &canvas(way)).expect("made");
        assert!(
            made.escape.len() <= 1 << 20,
            "{way:?}: {}",
            made.escape.len()
        );
        let (begin, end) = match way {
            Way::Kitty => ("\x1b_Ga=T,U=1,f=100,", "\x1b\\"),
            Way::Iterm => ("\x1b]1337;File=inline=1;", "\x07"),
            _ => ("\x1bP0;1;0q", "\x1b\\"),
        };
        assert!(made.escape.starts_with(begin) && made.escape.ends_with(end));
    }
    let kitty = make::picture(&bytes, (120, 30), &canvas(Way::Kitty)).expect("made");
    let chunks: Vec<&str> = kitty.escape.split_inclusive("\x1b\\").collect();
    assert!(chunks.len() > 2 && chunks.iter().all(|chunk| chunk.len() < 4_200));
    assert!(
        chunks
            .iter()
            .rev()
            .skip(1)
            .all(|chunk| chunk.contains("m=1;"))
    );
    assert!(chunks.last().is_some_and(|chunk| chunk.contains("m=0;")));
}

#[cfg(feature = "images")]
#[test]
fn old_pictures_are_forgotten_and_those_on_screen_stay() {
    let mut pictures = Pictures::default();
    pictures.set_canvas(canvas(Way::Kitty));
    let made = |id| Made {
        id,
        way: Way::Kitty,
        cols: 1,
        rows: 1,
        pixels: (1, 1),
        halves: Vec::new(),
        escape: "x".repeat(2 << 20),
    };
    for n in 0..12_u32 {
        pictures.begin_frame();
        assert!(n < 1 || pictures.shown(1).is_some(), "frame {n}");
        let key = (source(&n.to_string()), (48, 12));
        pictures.keep(key, Look::Ready(Arc::new(made(n + 1))));
    }
    assert!(
        pictures.weight() <= BYTES + (4 << 20),
        "{}",
        pictures.weight()
    );
    assert!(pictures.shown(3).is_none());
}
