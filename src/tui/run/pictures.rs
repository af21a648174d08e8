//! Pictures from the clipboard and from dropped paths: which program has them, what a file is.
//!
//! `looping` asks on a thread of its own, because the clipboard's owner may take its time. Which
//! programs are tried is decided by `ways`, from the environment alone, so that it can be tested.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::config::private;
use crate::protocol::mentions::media_type;
use crate::tui::composer::attach::Picture;

/// More is no picture that a model takes.
const MOST_BYTES: u64 = 32 << 20;
/// How long a clipboard program may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// Pictures of the clipboard are kept for so long: by then they are with their session.
const KEPT: Duration = Duration::from_hours(24);

const POWERSHELL: &str = "$i = Get-Clipboard -Format Image; if ($i) { $m = New-Object IO.MemoryStream; \
    $i.Save($m, [Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($m.ToArray()) }";
const OSASCRIPT: &str = "the clipboard as «class PNGf»";

/// How a program tells the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// Its bytes.
    Bytes,
    /// In base64.
    Base64,
    /// `«data PNGf89504E47…»`.
    AppleData,
}

/// A program that knows the clipboard.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Way {
    words: Vec<&'static str>,
    says: Says,
}

fn way(says: Says, words: &[&'static str]) -> Way {
    let words = words.to_vec();
    Way { words, says }
}

/// The programs to try, in order.
fn ways(get: &dyn Fn(&str) -> Option<String>) -> Vec<Way> {
    let set = |name| get(name).is_some_and(|value| !value.is_empty());
    let mut ways = Vec::new();
    if cfg!(target_os = "macos") {
        ways.push(way(Says::Bytes, &["pngpaste", "-"]));
        ways.push(way(Says::AppleData, &["osascript", "-e", OSASCRIPT]));
    }
    if set("WAYLAND_DISPLAY") {
        let words = ["wl-paste", "--no-newline", "--type", "image/png"];
        ways.push(way(Says::Bytes, &words));
    }
    if set("DISPLAY") {
        let words = ["xclip", "-selection", "clipboard", "-t", "image/png", "-o"];
        ways.push(way(Says::Bytes, &words));
    }
    if set("WSL_DISTRO_NAME") || set("WSL_INTEROP") {
        let words = ["powershell.exe", "-NoProfile", "-Command", POWERSHELL];
        ways.push(way(Says::Base64, &words));
    }
    ways
}

/// The clipboard's picture, kept as a file in `folder`; why not, as a sentence.
pub(super) fn clipboard(
    get: &dyn Fn(&str) -> Option<String>,
    folder: Option<&Path>,
) -> Result<Picture, String> {
    let ways = ways(get);
    if ways.is_empty() {
        return Err(
            "There is no desktop here whose clipboard could be read: paste or drop the \
                    picture's path."
                .to_owned(),
        );
    }
    let mut missing = Vec::new();
    for way in &ways {
        match ask(way) {
            Asked::Bytes(bytes) if is_picture(&bytes) => return keep(&bytes, folder),
            Asked::Bytes(_) => return Err("The clipboard holds no picture.".to_owned()),
            Asked::Missing => missing.push(way.words[0]),
        }
    }
    Err(format!(
        "No program here can read the clipboard: install {}, or paste the picture's path.",
        missing.join(" or ")
    ))
}

enum Asked {
    Bytes(Vec<u8>),
    Missing,
}

fn ask(way: &Way) -> Asked {
    let started = Command::new(way.words[0])
        .args(&way.words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else {
        return Asked::Missing;
    };
    let Some(out) = child.stdout.take() else {
        return Asked::Missing;
    };
    let (said, saying) = std::sync::mpsc::channel();
    let reader = std::thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        // What could be read is looked at; an error shows as no picture.
        drop(out.take(MOST_BYTES).read_to_end(&mut bytes));
        drop(said.send(bytes));
    });
    let bytes = match reader {
        Ok(_) => saying.recv_timeout(PATIENCE).unwrap_or_default(),
        Err(_) => Vec::new(),
    };
    drop(child.kill());
    drop(child.wait());
    Asked::Bytes(decoded(way.says, bytes))
}

fn decoded(says: Says, bytes: Vec<u8>) -> Vec<u8> {
    use base64::Engine as _;
    match says {
        Says::Bytes => bytes,
        Says::Base64 => {
            let text: Vec<u8> = bytes
                .into_iter()
                .filter(|b| !b.is_ascii_whitespace())
                .collect();
            let engine = base64::engine::general_purpose::STANDARD;
            engine.decode(text).unwrap_or_default()
        }
        Says::AppleData => {
            let text = String::from_utf8_lossy(&bytes);
            let hex = text.split_once("PNGf").map_or("", |(_, rest)| rest);
            let digits: Vec<u32> = hex.chars().map_while(|c| c.to_digit(16)).collect();
            let pairs = digits.chunks_exact(2);
            pairs.map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
        }
    }
}

fn is_picture(bytes: &[u8]) -> bool {
    infer::is_image(bytes)
}

fn write(folder: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    private::make_folder(folder)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)?.write_all(bytes)
}

/// Writes the picture where the agent finds it.
fn keep(bytes: &[u8], folder: Option<&Path>) -> Result<Picture, String> {
    let folder = folder.ok_or("There is no folder to keep the picture in.")?;
    forget_old(folder);
    let kind = infer::get(bytes).map_or("png", |kind| kind.extension());
    let hash = blake3::hash(bytes).to_hex();
    let path = folder.join(format!("{hash:.16}.{kind}"));
    let written = write(folder, &path, bytes);
    written.map_err(|error| {
        format!(
            "The picture could not be kept in {}: {error}.",
            folder.display()
        )
    })?;
    let mut picture = picture(&path).ok_or("The clipboard holds no picture.")?;
    picture.name = format!("image.{kind}");
    Ok(picture)
}

fn forget_old(folder: &Path) {
    let old = SystemTime::now().checked_sub(KEPT);
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let changed = entry.metadata().and_then(|data| data.modified()).ok();
        if changed.is_some_and(|at| Some(at) < old) {
            // It is tried again with the next picture.
            drop(std::fs::remove_file(entry.path()));
        }
    }
}

/// The pictures that these paths name, if all of them are there.
pub(super) fn dropped(
    paths: &[String],
    worktree: &Path,
    home: Option<&Path>,
) -> Option<Vec<Picture>> {
    paths
        .iter()
        .map(|path| {
            let full = match (path.strip_prefix("~/"), home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => worktree.join(path),
            };
            picture(&full)
        })
        .collect()
}

/// What a file is; none if it is not there, no file, or not what its name says.
fn picture(path: &Path) -> Option<Picture> {
    let path: PathBuf = path.canonicalize().ok()?;
    let data = std::fs::metadata(&path)
        .ok()
        .filter(std::fs::Metadata::is_file)?;
    if data.len() > MOST_BYTES {
        return None;
    }
    let mut head = Vec::new();
    let file = std::fs::File::open(&path).ok()?;
    file.take(64 << 10).read_to_end(&mut head).ok()?;
    let kind = infer::get(&head)?;
    let named = path.file_name()?.to_string_lossy().into_owned();
    if media_type(&named) == "text/plain" {
        return None;
    }
    Some(Picture {
        name: named,
        mime: kind.mime_type().to_owned(),
        path: path.to_string_lossy().into_owned(),
        bytes: data.len(),
        pixels: pixels(&head),
    })
}

#[cfg(feature = "images")]
fn pixels(head: &[u8]) -> Option<(u32, u32)> {
    let reader = image::ImageReader::new(std::io::Cursor::new(head));
    reader.with_guessed_format().ok()?.into_dimensions().ok()
}

#[cfg(not(feature = "images"))]
fn pixels(_head: &[u8]) -> Option<(u32, u32)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PNG of 1×1, by hand: signature, IHDR with its checksum, no data.
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89";

    #[test]
    fn the_desktop_decides_which_program_is_asked() {
        let names = |set: &[&str]| -> Vec<&str> {
            let get = |name: &str| set.contains(&name).then(|| "1".to_owned());
            ways(&get).iter().map(|way| way.words[0]).collect()
        };
        if cfg!(target_os = "linux") {
            assert_eq!(names(&[]), Vec::<&str>::new());
            assert_eq!(
                names(&["WAYLAND_DISPLAY", "DISPLAY"]),
                ["wl-paste", "xclip"]
            );
            assert_eq!(names(&["WSL_DISTRO_NAME"]), ["powershell.exe"]);
        }
    }

    #[test]
    fn what_programs_say_becomes_the_same_bytes() {
        use base64::Engine as _;
        let text = base64::engine::general_purpose::STANDARD.encode(PNG);
        let (first, rest) = text.split_at(10);
        let broken = format!("{first}\r\n{rest}\r\n");
        assert_eq!(decoded(Says::Base64, broken.into_bytes()), PNG);
        let hex = PNG
            .iter()
            .fold(String::new(), |hex, byte| format!("{hex}{byte:02X}"));
        let apple = format!("«data PNGf{hex}»\n").into_bytes();
        assert_eq!(decoded(Says::AppleData, apple), PNG);
    }

    #[test]
    fn a_dropped_path_counts_only_if_it_is_a_picture() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("a.png"), PNG).expect("written");
        std::fs::write(dir.path().join("b.png"), "no picture").expect("written");
        let find = |path: &str| dropped(&[path.to_owned()], dir.path(), None);
        let found = find("a.png").expect("a picture");
        assert_eq!(
            (found[0].mime.as_str(), found[0].bytes),
            ("image/png", PNG.len() as u64)
        );
        assert_eq!(find("b.png"), None);
        assert_eq!(find("c.png"), None);
    }
}
