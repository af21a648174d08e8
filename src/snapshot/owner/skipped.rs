//! Files that snapshots leave out, told to the user once each, with what would include them.

use super::super::path;
use super::super::state::Skip;
use super::Owner;

/// Files named in one notice.
const NAMED: usize = 5;

impl Owner {
    pub(super) fn notice_skipped(&mut self, skipped: &[(Vec<u8>, Skip)]) {
        for why in [Skip::Large, Skip::Budget, Skip::Unreadable] {
            let of_kind = skipped.iter().filter(|(_, w)| *w == why);
            let paths: Vec<Vec<u8>> = of_kind.map(|(path, _)| path.clone()).collect();
            if why == Skip::Budget {
                self.retry.extend(paths.iter().cloned());
            }
            let told = &mut self.told;
            let new: Vec<_> = paths.iter().filter(|p| told.insert((*p).clone())).collect();
            if new.is_empty() {
                continue;
            }
            let mut names: Vec<String> = new.iter().take(NAMED).map(|p| path::to_text(p)).collect();
            if new.len() > NAMED {
                names.push(format!("{} more", new.len() - NAMED));
            }
            let names = names.join(", ");
            self.notices.push(match why {
                Skip::Large => format!(
                    "Not in snapshots, because they are larger than {} MiB and not tracked by git: {names}. \
                     Raise `snapshot.max_file` to include them.",
                    self.settings.max_file >> 20
                ),
                Skip::Budget => format!(
                    "Left for the next snapshot, because this one already took in {} MiB: {names}. \
                     Raise `snapshot.max_bytes` to take in more at once.",
                    self.settings.max_bytes >> 20
                ),
                Skip::Unreadable => format!(
                    "Not in snapshots, because they could not be read: {names}. \
                     Change their permissions to include them."
                ),
            });
        }
    }
}
