//! Tests of journal lines: checksums, cuts, damage, numbers of commits.

use super::*;
use crate::protocol::PartId;

fn record(n: u64) -> Vec<Record> {
    vec![Record::Append {
        part: PartId::from_raw(u128::from(n)),
        text: format!("grüße {n} ").repeat(n as usize % 40),
    }]
}

fn written(path: &Path, commits: u64) -> Vec<u8> {
    let file = File::options()
        .create(true)
        .truncate(true)
        .read(true)
        .write(true)
        .open(path)
        .expect("create");
    let mut journal = Journal::new(file, path.to_owned(), &Tail::default());
    for n in 1..=commits {
        journal.append(&record(n)).expect("append");
    }
    let bytes = std::fs::read(path).expect("read");
    assert_eq!(journal.end(), bytes.len() as u64);
    bytes
}

/// Numbers of the sound lines, and how many lines are damaged.
fn read(path: &Path) -> (Vec<u64>, usize) {
    let mut lines = Lines::open(path, 0, None).expect("open");
    let (mut numbers, mut damaged) = (Vec::new(), 0);
    while let Some(found) = lines.next().expect("read") {
        match found {
            Found::Line { json, .. } => numbers.push(record::number(json).expect("number")),
            Found::Damaged { .. } => damaged += 1,
        }
    }
    (numbers, damaged)
}

#[test]
fn cut_at_every_byte_of_its_last_8_kib_it_keeps_all_whole_lines() {
    let home = tempfile::tempdir().expect("temp");
    let path = home.path().join("journal");
    let whole = written(&path, 60);
    let file = File::options()
        .read(true)
        .write(true)
        .open(&path)
        .expect("open");
    let first = whole.len().saturating_sub(8 << 10);
    assert!(first > 0, "the journal is too short for this test");
    for cut in (first..=whole.len()).rev() {
        file.set_len(cut as u64).expect("cut");
        let before = &whole[..cut];
        let end = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let lines = memchr::memchr_iter(b'\n', before).count() as u64;
        let expected = Tail {
            end: end as u64,
            torn: (cut - end) as u64,
            damaged: false,
            newer: None,
        };
        assert_eq!(tail(&file, &path).expect("tail"), expected, "cut at {cut}");
        if cut % 97 == 0 {
            assert_eq!(
                read(&path).0,
                (1..=lines).collect::<Vec<_>>(),
                "cut at {cut}"
            );
        }
    }
    assert_eq!(read(&path).1, 0);
}

#[test]
fn the_last_sound_line_is_found_behind_a_very_long_torn_one() {
    let home = tempfile::tempdir().expect("temp");
    let path = home.path().join("journal");
    let mut bytes = written(&path, 5);
    let end = bytes.len() as u64;
    bytes.extend(std::iter::repeat_n(b'x', 700_000));
    std::fs::write(&path, &bytes).expect("write");
    let file = File::options()
        .read(true)
        .write(true)
        .open(&path)
        .expect("open");
    let found = tail(&file, &path).expect("tail");
    assert_eq!((found.end, found.torn), (end, 700_000));
    let mut journal = Journal::new(file, path.clone(), &found);
    assert_eq!(std::fs::read(&path).expect("read"), bytes, "not cut yet");
    journal.go_on_after(5).expect("cut");
    journal.append(&record(6)).expect("append");
    assert_eq!(read(&path), (vec![1, 2, 3, 4, 5, 6], 0));
}

#[test]
fn damage_in_the_middle_costs_only_its_lines() {
    let home = tempfile::tempdir().expect("temp");
    let path = home.path().join("journal");
    let mut bytes = written(&path, 30);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(&path, &bytes).expect("write");
    let (numbers, damaged) = read(&path);
    assert_eq!((numbers.len(), damaged), (29, 1));
    let file = File::open(&path).expect("open");
    assert_eq!(tail(&file, &path).expect("tail").end, bytes.len() as u64);
}

#[test]
fn an_empty_journal_and_one_of_zeros_have_no_lines() {
    let home = tempfile::tempdir().expect("temp");
    let path = home.path().join("journal");
    for bytes in [vec![], vec![0; 3], vec![0; 100_000]] {
        std::fs::write(&path, &bytes).expect("write");
        let file = File::open(&path).expect("open");
        let found = tail(&file, &path).expect("tail");
        assert_eq!(found.end, 0);
        assert_eq!(read(&path), (vec![], 0));
    }
}

#[test]
fn a_line_is_its_checksum_a_space_and_json() {
    let home = tempfile::tempdir().expect("temp");
    let path = home.path().join("journal");
    let bytes = written(&path, 1);
    let text = String::from_utf8(bytes).expect("text");
    let json = format!(
        "{{\"v\":2,\"n\":1,\"r\":[{{\"append\":{{\"part\":\"{}\",\"text\":\"grüße 1 \"}}}}]}}",
        PartId::from_raw(1)
    );
    let sum = crc32fast::hash(json.as_bytes());
    assert_eq!(text, format!("{sum:08x} {json}\n"));
}

#[test]
fn a_write_that_breaks_off_leaves_nothing_and_the_next_one_works() {
    // a file opened for reading refuses to be written, as a full disk would
    let home = tempfile::tempdir().expect("temp");
    let path = home.path().join("journal");
    let bytes = written(&path, 3);
    let file = File::open(&path).expect("open");
    let found = tail(&file, &path).expect("tail");
    let mut broken = Journal::new(file, path.clone(), &found);
    broken.go_on_after(3).expect("nothing to cut");
    let error = broken.append(&record(4)).expect_err("read-only");
    assert!(error.to_string().contains("journal"), "{error}");
    assert_eq!(broken.end(), found.end);
    assert_eq!(std::fs::read(&path).expect("read"), bytes);
    // the same writer again once writing works
    let file = File::options()
        .read(true)
        .write(true)
        .open(&path)
        .expect("open");
    broken.file = Arc::new(file);
    broken.append(&record(4)).expect("append");
    assert_eq!(read(&path), (vec![1, 2, 3, 4], 0));
}

#[test]
fn a_reader_stops_before_a_line_that_is_not_complete() {
    let home = tempfile::tempdir().expect("temp");
    let path = home.path().join("journal");
    let bytes = written(&path, 3);
    std::fs::write(&path, &bytes[..bytes.len() - 1]).expect("write");
    assert_eq!(read(&path).0, [1, 2]);
    let mut lines = Lines::open(&path, 0, Some(30)).expect("open");
    assert!(
        lines.next().expect("read").is_none(),
        "the first line is longer than 30 bytes"
    );
}

#[test]
fn carriage_returns_and_capitals_in_sums_change_nothing() {
    let home = tempfile::tempdir().expect("temp");
    let path = home.path().join("journal");
    let bytes = written(&path, 9);
    let lines = bytes.split_inclusive(|b| *b == b'\n');
    let harmed = lines.map(|line| {
        let mut line = line.to_vec();
        line[..8].make_ascii_uppercase();
        line.insert(line.len() - 1, b'\r');
        line
    });
    let harmed: Vec<u8> = harmed.flatten().collect();
    std::fs::write(&path, &harmed).expect("write");
    assert_eq!(read(&path), ((1..=9).collect(), 0));
    let file = File::open(&path).expect("open");
    let found = tail(&file, &path).expect("tail");
    assert_eq!((found.end, found.torn), (harmed.len() as u64, 0));
    let mut lines = Lines::open(&path, 0, None).expect("open");
    let mut place = 0;
    while let Some(Found::Line { start, end, .. }) = lines.next().expect("read") {
        assert_eq!(start, place);
        place = end;
    }
}

#[test]
fn a_last_line_whose_sum_fits_but_that_is_no_commit_counts_as_damage_and_not_as_the_end() {
    let home = tempfile::tempdir().expect("temp");
    let path = home.path().join("journal");
    let whole = written(&path, 5);
    for json in [
        "",
        "null",
        "[1]",
        "{\"v\":\"3\",\"n\":6}",
        "{\"v\":2,\"n\":-5,\"r\":[]}",
    ] {
        let line = format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()));
        let bytes = [whole.as_slice(), line.as_bytes()].concat();
        std::fs::write(&path, &bytes).expect("write");
        let file = File::open(&path).expect("open");
        let found = tail(&file, &path).expect("tail");
        assert_eq!(
            (found.end, found.torn),
            (whole.len() as u64, line.len() as u64),
            "{json}"
        );
        assert!(found.damaged && found.newer.is_none(), "{json}");
    }
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let home = tempfile::tempdir().expect("temp");
    let pipe = home.path().join("journal");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).expect("pipe");
    for path in [pipe.as_path(), home.path()] {
        let error = Lines::open(path, 0, None).expect_err("no file");
        assert!(error.to_string().contains("not a file"), "{error}");
    }
}
