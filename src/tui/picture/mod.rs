//! Pictures in the conversation: which are known, which are wanted, what they look like in cells.
//!
//! A cell's layout asks `Pictures::look`; what is not there yet is noted as wanted. The loop takes
//! `wanted` to the agent (`Op::ReadFile`), `update` brings the bytes, a worker thread decodes, scales
//! and encodes them (`make`), and `poll` takes the result in. Nothing is decoded on the UI's thread,
//! and no more than `BYTES` of finished pictures are held.

#[cfg(feature = "images")]
mod make;
#[cfg(feature = "images")]
mod sixel;
pub mod way;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::protocol::FileSource;
use way::Way;

/// Bytes of finished pictures that are held; those on screen always are.
const BYTES: usize = 8 << 20;

/// Columns and rows of a folded picture at most.
pub const FOLDED: (u16, u16) = (48, 12);

/// Rows of an unfolded one at most: rows are numbered by kitty's table of marks.
pub const UNFOLDED_ROWS: u16 = 30;

/// How pictures are made for this screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Canvas {
    /// How they are shown.
    pub way: Way,
    /// Columns and rows of pixels of one cell.
    pub cell: (u16, u16),
    /// What stands behind a picture that lets something through.
    pub paper: (u8, u8, u8),
    /// Colours of a sixel picture.
    pub registers: u16,
}

impl Default for Canvas {
    fn default() -> Self {
        Self {
            way: Way::Text,
            cell: (10, 20),
            paper: (0, 0, 0),
            registers: 256,
        }
    }
}

/// A picture as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub struct Made {
    /// Its number towards the terminal: 24 bits, never 0.
    pub id: u32,
    /// How it is shown.
    pub way: Way,
    /// Columns.
    pub cols: u16,
    /// Rows.
    pub rows: u16,
    /// Its own size in pixels.
    pub pixels: (u32, u32),
    /// Colours of its halves of cells, row by row: `cols` × 2 `rows`.
    pub halves: Vec<[u8; 3]>,
    /// What tells the terminal about it: for kitty all of it, else what paints it at the cursor.
    pub escape: String,
}

impl Made {
    fn weight(&self) -> usize {
        size_of::<Self>() + self.halves.len() * 3 + self.escape.len()
    }
}

/// Which picture: where its bytes are, and the cells it may take.
type Key = (FileSource, (u16, u16));

/// What is known about a picture.
#[derive(Debug, Clone)]
pub enum Look {
    /// This screen shows none.
    Words,
    /// It is being read or made.
    Coming,
    /// It cannot be shown: why.
    Failed(Arc<str>),
    /// As it is shown.
    Ready(Arc<Made>),
}

#[derive(Debug)]
struct Slot {
    look: Look,
    /// The frame that used it last.
    used: Cell<u64>,
}

/// Work for the thread.
#[derive(Debug)]
struct Job {
    key: Key,
    bytes: bytes::Bytes,
    canvas: Canvas,
}

type Done = (Key, Canvas, Result<Made, String>);

/// Called from the worker's thread when a picture is ready.
type Wake = Arc<dyn Fn() + Send + Sync>;

/// All pictures of a transcript.
#[derive(Default)]
pub struct Pictures {
    canvas: Canvas,
    slots: HashMap<Key, Slot>,
    wanted: RefCell<Vec<Key>>,
    frame: Cell<u64>,
    version: u64,
    wake: Option<Wake>,
    line: Option<(Sender<Job>, Receiver<Done>)>,
}

impl std::fmt::Debug for Pictures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pictures")
            .field("canvas", &self.canvas)
            .field("slots", &self.slots.len())
            .finish_non_exhaustive()
    }
}

impl Pictures {
    /// Who is told when a picture is ready; takes effect when the thread starts.
    pub fn set_waker(&mut self, wake: Wake) {
        self.wake = Some(wake);
    }

    /// Wakes whom the other one wakes.
    pub fn wake_like(&mut self, other: &Self) {
        self.wake.clone_from(&other.wake);
    }

    /// How pictures are made from now on; what was made for another screen is forgotten.
    pub fn set_canvas(&mut self, canvas: Canvas) {
        if self.canvas != canvas {
            self.canvas = canvas;
            self.slots.clear();
            self.version += 1;
        }
    }

    /// How pictures are made.
    pub const fn canvas(&self) -> Canvas {
        self.canvas
    }

    /// What is known about a picture that may take so many columns and rows. Notes it as wanted if
    /// nothing is.
    pub fn look(&self, source: &FileSource, most: (u16, u16)) -> Look {
        if self.canvas.way == Way::Text {
            return Look::Words;
        }
        let key = (source.clone(), most);
        if let Some(slot) = self.slots.get(&key) {
            slot.used.set(self.frame.get());
            return slot.look.clone();
        }
        let mut wanted = self.wanted.borrow_mut();
        if !wanted.contains(&key) {
            wanted.push(key);
        }
        Look::Coming
    }

    /// A new frame begins; what it shows is kept.
    pub fn begin_frame(&self) {
        self.frame.set(self.frame.get() + 1);
    }

    /// The picture of that number, which is on screen now.
    pub fn shown(&self, id: u32) -> Option<Arc<Made>> {
        self.slots.values().find_map(|slot| match &slot.look {
            Look::Ready(made) if made.id == id => {
                slot.used.set(self.frame.get());
                Some(Arc::clone(made))
            }
            _ => None,
        })
    }

    /// Grows with every change.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The pictures whose bytes are to be read now. Each is given once.
    pub fn wanted(&mut self) -> Vec<FileSource> {
        let mut sources: Vec<FileSource> = Vec::new();
        for key in std::mem::take(self.wanted.get_mut()) {
            if !sources.contains(&key.0) {
                sources.push(key.0.clone());
            }
            let slot = Slot {
                look: Look::Coming,
                used: Cell::new(self.frame.get()),
            };
            self.slots.insert(key, slot);
        }
        sources
    }

    /// The bytes came; none if they are gone.
    pub fn came(&mut self, source: &FileSource, bytes: Option<&bytes::Bytes>) {
        let waiting = |(key, slot): (&Key, &Slot)| {
            (&key.0 == source && matches!(slot.look, Look::Coming)).then(|| key.clone())
        };
        let keys: Vec<Key> = self.slots.iter().filter_map(waiting).collect();
        for key in keys {
            match bytes {
                Some(bytes) => self.send(key, bytes.clone()),
                None => self.keep(key, Look::Failed("its bytes are gone".into())),
            }
        }
    }

    fn send(&mut self, key: Key, bytes: bytes::Bytes) {
        if self.line.is_none() {
            self.line = start(self.wake.clone());
        }
        let job = Job {
            key,
            bytes,
            canvas: self.canvas,
        };
        // Without a thread the picture stays a line of words.
        if let Some((jobs, _)) = &self.line {
            drop(jobs.send(job));
        }
    }

    /// Takes finished pictures in; true if there were any.
    pub fn poll(&mut self) -> bool {
        let mut news = false;
        while let Some((key, canvas, made)) = self.line.as_ref().and_then(|l| l.1.try_recv().ok()) {
            if canvas != self.canvas {
                // Made for a screen that is no more; the layout asks again.
                continue;
            }
            let look = match made {
                Ok(made) => Look::Ready(Arc::new(made)),
                Err(why) => Look::Failed(why.into()),
            };
            self.keep(key, look);
            news = true;
        }
        news
    }

    fn keep(&mut self, key: Key, look: Look) {
        let used = Cell::new(self.frame.get());
        self.slots.insert(key, Slot { look, used });
        self.version += 1;
        self.forget_old();
    }

    /// Bytes of finished pictures.
    pub fn weight(&self) -> usize {
        self.slots.values().map(weight).sum()
    }

    /// Forgets what was not on screen for longest until the rest fits.
    fn forget_old(&mut self) {
        let mut held = self.weight();
        while held > BYTES {
            let now = self.frame.get();
            let old = self
                .slots
                .iter()
                .filter(|(_, slot)| weight(slot) > 0 && slot.used.get() + 1 < now)
                .min_by_key(|(_, slot)| slot.used.get())
                .map(|(key, slot)| (key.clone(), weight(slot)));
            let Some((key, bytes)) = old else { break };
            self.slots.remove(&key);
            held -= bytes;
        }
    }
}

fn weight(slot: &Slot) -> usize {
    match &slot.look {
        Look::Ready(made) => made.weight(),
        _ => 0,
    }
}

/// Starts the thread; none if the system has none to give.
fn start(wake: Option<Wake>) -> Option<(Sender<Job>, Receiver<Done>)> {
    let (jobs, todo) = channel::<Job>();
    let (done, results) = channel();
    std::thread::Builder::new()
        .name("pictures".to_owned())
        .spawn(move || {
            while let Ok(Job { key, bytes, canvas }) = todo.recv() {
                #[cfg(feature = "images")]
                let made = make::picture(&bytes, key.1, &canvas);
                #[cfg(not(feature = "images"))]
                let made = Err("this build shows no pictures".to_owned());
                drop(bytes);
                if done.send((key, canvas, made)).is_err() {
                    return;
                }
                if let Some(wake) = &wake {
                    wake();
                }
            }
        })
        .ok()?;
    Some((jobs, results))
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
