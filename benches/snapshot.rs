//! What a snapshot costs: the first one, one when nothing changed, one after an edit.
//!
//! `cargo bench --bench snapshot`. Repositories of 1,000 and 20,000 small files are made in the
//! temporary folder with git; without git nothing is measured. `docs/snapshots.md` has the figures.
//! `DUNLIN_BENCH_FILES` (a number) measures one other size.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot run must stop and say so"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use dunlin::config::used::SnapshotSettings;
use dunlin::snapshot::{Hints, Snapshots};
use tempfile::TempDir;
use tokio::runtime::Runtime;

fn git(root: &Path, arguments: &[&str]) -> bool {
    Command::new("git")
        .args([
            "-c",
            "user.name=b",
            "-c",
            "user.email=b@example.invalid",
            "-c",
            "gc.auto=0",
        ])
        .args(arguments)
        .current_dir(root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// A committed repository of `files` small files, 100 to a folder.
fn repository(files: usize) -> Option<TempDir> {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("work");
    for dir in 0..files.div_ceil(100) {
        let folder = root.join(format!("src/mod{dir:03}"));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..100.min(files - dir * 100) {
            let line = |n| format!("pub const V_{dir}_{file}_{n}: u32 = {};\n", dir * file + n);
            let text: String = (0..10).map(line).collect();
            fs::write(folder.join(format!("f{file:03}.rs")), text).unwrap();
        }
    }
    fs::write(root.join(".gitignore"), "target/\n*.log\n").unwrap();
    let made = git(&root, &["init", "-q"])
        && git(&root, &["add", "-A"])
        && git(&root, &["commit", "-qm", "x"]);
    // the index proves nothing about files that are as young as itself
    std::thread::park_timeout(Duration::from_millis(1100));
    let settled = made && git(&root, &["status"]) && git(&root, &["update-index", "--refresh"]);
    settled.then_some(temp)
}

fn open(temp: &TempDir, store: &str, watch: bool) -> Snapshots {
    let settings = SnapshotSettings {
        watch,
        ..SnapshotSettings::default()
    };
    let home: PathBuf = temp.path().join("home");
    Snapshots::open(
        temp.path().join("work"),
        temp.path().join(store),
        Some(home),
        settings,
    )
}

fn first(c: &mut Criterion, runtime: &Runtime, temp: &TempDir, files: usize) {
    let mut group = c.benchmark_group("first");
    group.sample_size(10);
    let mut round = 0;
    group.bench_function(BenchmarkId::from_parameter(files), |b| {
        b.iter_custom(|rounds| {
            let mut total = Duration::ZERO;
            for _ in 0..rounds {
                round += 1;
                let begun = Instant::now();
                let snapshots = open(temp, &format!("first{round}"), true);
                runtime.block_on(snapshots.take(Hints::none())).unwrap();
                total += begun.elapsed();
            }
            total
        });
    });
}

fn steps(c: &mut Criterion, runtime: &Runtime, temp: &TempDir, (files, watch): (usize, bool)) {
    let name = if watch { "watched" } else { "unwatched" };
    let snapshots = open(temp, &format!("snap-{name}"), watch);
    let take = |hints| runtime.block_on(snapshots.take(hints)).unwrap();
    let mut last = take(Hints::none()).tree;
    let mut group = c.benchmark_group(name);
    let id = |what: &str| BenchmarkId::new(what.to_owned(), files);
    group.bench_function(id("nothing changed"), |b| b.iter(|| take(Hints::none())));
    group.bench_function(id("after a command that changed nothing"), |b| {
        b.iter(|| take(Hints::unknown()));
    });
    let path = temp.path().join("work/src/mod003/f003.rs");
    let mut round = 0_u64;
    group.bench_function(id("one file edited"), |b| {
        b.iter_custom(|rounds| {
            let mut total = Duration::ZERO;
            for _ in 0..rounds {
                round += 1;
                fs::write(&path, format!("// {watch} {round}\n")).unwrap();
                let begun = Instant::now();
                take(Hints::paths([path.clone()]));
                total += begun.elapsed();
            }
            total
        });
    });
    group.bench_function(id("one file edited, with counts and writes"), |b| {
        b.iter_custom(|rounds| {
            let mut total = Duration::ZERO;
            for _ in 0..rounds {
                round += 1;
                fs::write(&path, format!("// {watch} {round}\n")).unwrap();
                let begun = Instant::now();
                let now = take(Hints::paths([path.clone()])).tree;
                runtime.block_on(snapshots.counts(&last, &now)).unwrap();
                runtime.block_on(snapshots.writes(&last, &now)).unwrap();
                total += begun.elapsed();
                last = now;
            }
            total
        });
    });
    group.bench_function(id("everything verified"), |b| {
        b.iter(|| take(Hints::full()));
    });
}

fn snapshots(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let asked = std::env::var("DUNLIN_BENCH_FILES").ok();
    let sizes = asked
        .and_then(|n| n.parse().ok())
        .map_or(vec![1_000, 20_000], |n| vec![n]);
    for files in sizes {
        let Some(temp) = repository(files) else {
            println!("nothing measured: there is no git");
            return;
        };
        first(c, &runtime, &temp, files);
        steps(c, &runtime, &temp, (files, true));
        steps(c, &runtime, &temp, (files, false));
    }
}

criterion_group!(benches, snapshots);
criterion_main!(benches);
