//! What a newer dunlin wrote is refused in a sentence and stays byte for byte as it is, whatever is done.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use dunlin::protocol::{Millis, SessionId};
use dunlin::session::{Fork, GcPolicy, Redactor, SearchQuery, StoreError};

use super::support::{Heard, World, assert_sound, commit, session_id};

/// Every file below a folder with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("list") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            found.append(&mut files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).expect("read"));
        }
    }
    found
}

/// In forty days everything is old.
fn policy() -> GcPolicy {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.expect("time").as_millis() as Millis;
    GcPolicy {
        now: now + 40 * 24 * 3_600_000,
        output_days: 7,
        frames_days: 7,
        archive_days: 14,
        // with nothing left to spare the quota takes what it can
        quota: 1,
        dry_run: false,
    }
}

/// The same line in a later format.
fn newer(line: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(&line[9..]).expect("text").trim_end();
    let json = text.replacen("{\"v\":2,", "{\"v\":3,", 1);
    assert_ne!(json, text);
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes())).into_bytes()
}

/// Does to a session all that could change it; each time it is refused, or left alone.
fn is_left_alone(world: &World, id: SessionId, case: &str) {
    let project = &world.project;
    let folder = world.folder(id);
    fs::create_dir_all(folder.join("out")).expect("folder");
    for name in ["out/output", "frames", "left.tmp"] {
        fs::write(folder.join(name), b"what only a newer dunlin understands").expect("write");
    }
    let blob = project
        .blobs()
        .put(b"a picture that only it names")
        .expect("put");
    let before = files(&folder);
    let refused = |what: &str, error: Option<StoreError>| {
        let error = error.unwrap_or_else(|| panic!("{case}: {what} was not refused"));
        assert!(
            matches!(error, StoreError::Newer { found: 3, .. }),
            "{case}, {what}: {error}"
        );
        assert!(
            error.to_string().contains(&id.to_string()),
            "{case}, {what}: {error}"
        );
        assert!(files(&folder) == before, "{case}: {what} changed it");
    };
    refused("opening", project.open_session(id, Heard::new()).err());
    refused("reading", project.open_to_read(id, Heard::new()).err());
    refused("naming", project.rename(id, "a name").err());
    if folder.join("journal").exists() {
        refused("packing", project.archive(id).err());
    }
    let fork = Fork {
        source: id,
        at: None,
        id: session_id(77),
        now: 0,
        values: Vec::new(),
    };
    refused("forking", project.fork(&fork).err());
    let mut out = Vec::new();
    let format = dunlin::session::ExportFormat::Json;
    let redactor = Redactor::of_process();
    refused(
        "exporting",
        project.export(id, format, &redactor, &mut out).err(),
    );
    let needed = project.snapshots_in_use().expect("snapshots");
    let told = needed
        .unsure
        .iter()
        .any(|text| text.contains(&id.to_string()));
    assert!(told, "{case}: {:?}", needed.unsure);
    assert!(
        files(&folder) == before,
        "{case}: looking for snapshots changed it"
    );
    project.gc(&policy()).expect("gc");
    assert!(files(&folder) == before, "{case}: the clean-up changed it");
    project.gc_if_due(&policy()).expect("upkeep");
    assert!(files(&folder) == before, "{case}: upkeep changed it");
    assert!(
        project.blobs().get(&blob).is_ok(),
        "{case}: who knows what it names"
    );
    project.list().expect("list");
    project.newest().expect("newest");
    let query = SearchQuery {
        text: "prompt".to_owned(),
        regex: false,
        prompts: false,
        limit: 10,
    };
    project
        .search(&query, &AtomicBool::new(false))
        .expect("search");
    assert!(files(&folder) == before, "{case}: looking changed it");
    drop(fs::remove_file(world.project.folder().join("cleaned")));
}

#[test]
fn a_journal_with_a_newer_line_anywhere_is_refused_and_left_byte_for_byte() {
    let id = session_id(1);
    for place in [
        "first",
        "middle",
        "last",
        "before a torn end",
        "middle, torn",
        "every",
    ] {
        let world = World::patient();
        world.session(id, 24);
        let path = world.folder(id).join("journal");
        let bytes = fs::read(&path).expect("journal");
        let mut lines: Vec<Vec<u8>> = bytes
            .split_inclusive(|b| *b == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        let last = lines.len() - 1;
        let which = match place {
            "first" => 0..=0,
            "middle" | "middle, torn" => 9..=9,
            "every" => 0..=last,
            _ => last..=last,
        };
        for line in &mut lines[which] {
            *line = newer(line);
        }
        let torn: &[u8] = if place.contains("torn") {
            b"0badcafe {\"v\":2,\"n"
        } else {
            b""
        };
        let bytes = [lines.concat().as_slice(), torn].concat();
        fs::write(&path, &bytes).expect("write");
        is_left_alone(&world, id, place);
        fs::remove_file(&path).expect("remove");
        let packed = zstd::encode_all(bytes.as_slice(), 3).expect("pack");
        fs::write(world.folder(id).join("journal.zst"), packed).expect("write");
        is_left_alone(&world, id, &format!("{place}, packed"));
    }
}

#[test]
fn a_large_journal_of_a_newer_version_is_refused_without_a_lock() {
    let world = World::patient();
    let id = session_id(1);
    world.large_session(id);
    let path = world.folder(id).join("journal");
    let bytes = fs::read(&path).expect("journal");
    for place in ["first", "last"] {
        let mut lines: Vec<Vec<u8>> = bytes
            .split_inclusive(|b| *b == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        let which = if place == "first" { 0 } else { lines.len() - 1 };
        lines[which] = newer(&lines[which]);
        fs::write(&path, lines.concat()).expect("write");
        is_left_alone(&world, id, place);
    }
}

#[test]
fn a_row_of_a_newer_format_is_read_around_and_never_written() {
    let world = World::patient();
    let id = session_id(1);
    world.session(id, 24);
    let path = world.folder(id).join("meta.json");
    let old = fs::read_to_string(&path).expect("row");
    let row = old.replacen("\"format\":1", "\"format\":7,\"hologram\":[]", 1);
    assert_ne!(row, old);
    fs::write(&path, &row).expect("write");
    let listed = world.project.list().expect("list");
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].info.id, listed[0].damaged), (id, false));
    let opened = world.project.open_session(id, Heard::new()).expect("open");
    opened.store.commit(commit(id, 25));
    opened.store.close_blocking();
    world.project.rename(id, "a name").expect("rename");
    world.project.archive(id).expect("archive");
    assert_eq!(fs::read_to_string(&path).expect("row"), row);
    // what it would say is known all the same
    let listed = world.project.list().expect("list");
    assert_eq!(
        (listed[0].info.title.as_str(), listed[0].archived),
        ("a name", true)
    );
    let history = world.project.open_session_all(id).expect("all");
    assert_eq!(assert_sound(&history), 25);
}
