//! Earlier prompts: up and down through them, with the draft kept at the end.
//!
//! The composer asks; `update` adds what was sent and tells `run` to keep it. No I/O here.

const MOST: usize = 1_000;

/// An earlier prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Past {
    /// What was said.
    pub text: String,
    /// The project it was said in, for the eye; empty for this one.
    pub place: String,
}

impl Past {
    /// One of this project.
    pub fn here(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            place: String::new(),
        }
    }

    /// True if it was said in this project.
    pub const fn is_here(&self) -> bool {
        self.place.is_empty()
    }
}

/// Earlier prompts, oldest first, and where the user is in them.
#[derive(Debug, Clone, Default)]
pub struct History {
    entries: Vec<Past>,
    at: Option<usize>,
    draft: String,
}

impl History {
    /// Takes in what was kept from earlier sessions; it goes before what was sent since the start.
    pub fn load(&mut self, mut older: Vec<Past>) {
        older.append(&mut self.entries);
        let excess = older.len().saturating_sub(MOST);
        older.drain(..excess);
        self.entries = older;
    }

    /// Adds a prompt; false if it is empty or the same as the last one.
    pub fn add(&mut self, prompt: &str) -> bool {
        self.at = None;
        if prompt.trim().is_empty() || self.entries.last().is_some_and(|last| last.text == prompt) {
            return false;
        }
        if self.entries.len() >= MOST {
            self.entries.remove(0);
        }
        self.entries.push(Past::here(prompt));
        true
    }

    /// The prompt before; `current` is kept as the draft when the walk begins.
    pub fn older(&mut self, current: &str) -> Option<String> {
        let next = match self.at {
            None => {
                current.clone_into(&mut self.draft);
                self.entries.len().checked_sub(1)?
            }
            Some(at) => at.checked_sub(1)?,
        };
        self.at = Some(next);
        self.entries.get(next).map(|past| past.text.clone())
    }

    /// The prompt after; the draft at the end.
    pub fn newer(&mut self) -> Option<String> {
        let next = self.at? + 1;
        if next < self.entries.len() {
            self.at = Some(next);
            return self.entries.get(next).map(|past| past.text.clone());
        }
        self.at = None;
        Some(std::mem::take(&mut self.draft))
    }

    /// The walk ends: the text was changed or sent. Gives the draft from before it, if there was one.
    pub fn leave(&mut self) -> Option<String> {
        self.at.take()?;
        Some(std::mem::take(&mut self.draft)).filter(|draft| !draft.is_empty())
    }

    /// True while the user walks through earlier prompts.
    pub const fn is_walking(&self) -> bool {
        self.at.is_some()
    }

    /// All, oldest first.
    pub fn entries(&self) -> &[Past] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_and_down_walk_and_the_draft_comes_back() {
        let mut history = History::default();
        assert!(history.add("one"));
        assert!(history.add("two"));
        assert!(!history.add("two"), "no repeats");
        history.load(vec![Past::here("zero")]);
        assert_eq!(history.older("draft").as_deref(), Some("two"));
        assert_eq!(history.older("").as_deref(), Some("one"));
        assert_eq!(history.older("").as_deref(), Some("zero"));
        assert_eq!(history.older(""), None);
        assert_eq!(history.newer().as_deref(), Some("one"));
        assert_eq!(history.newer().as_deref(), Some("two"));
        assert_eq!(history.newer().as_deref(), Some("draft"));
        assert_eq!(history.newer(), None);
        assert_eq!(history.leave(), None, "it came back already");
        history.older("a draft");
        assert_eq!(history.leave().as_deref(), Some("a draft"));
        assert_eq!(history.leave(), None, "once");
    }
}
