//! The scroll position: the newest row, or a place in a cell.
//!
//! No total height is ever known: moving asks for the heights of the units it passes and of no
//! others, so a transcript of any length scrolls alike. A *unit* is one layout of one cell.

/// A unit: the cell's own number, and which of its layouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Unit {
    /// The cell.
    pub cell: u64,
    /// Which layout.
    pub part: u32,
}

/// The top row of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// The unit that it is in.
    pub unit: Unit,
    /// Row of the unit, the gap above it included.
    pub row: usize,
    /// Rows of the gap, which comes and goes with what stands above.
    pub gap: usize,
    /// Columns for which `row` holds.
    pub width: u16,
    /// Said bytes of the unit above the row: where to go on when the columns change.
    pub offset: usize,
    /// True if the row says nothing itself.
    pub blank: bool,
}

/// Where the transcript is looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Position {
    /// The newest row stays at the bottom.
    #[default]
    Latest,
    /// This row stays at the top.
    At(Anchor),
}

/// A wish to move, carried out by the next frame, which knows the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// By rows; negative is up.
    Rows(i32),
    /// By screens; negative is up.
    Pages(i32),
    /// To the first row.
    Top,
    /// To a prompt before (negative) or after.
    Prompt(i32),
    /// To a row of a unit, shown in the upper third.
    To(Unit, usize),
}

/// The units of a transcript in order, and their heights.
pub trait Units {
    /// The unit before.
    fn before(&mut self, unit: Unit) -> Option<Unit>;
    /// The unit after.
    fn after(&mut self, unit: Unit) -> Option<Unit>;
    /// The last one.
    fn last(&mut self) -> Option<Unit>;
    /// Rows, the gap above included.
    fn height(&mut self, unit: Unit) -> usize;
}

/// The top row when the newest row is at the bottom of `height` rows; none if everything fits.
pub fn top_of_latest(units: &mut impl Units, height: usize) -> Option<(Unit, usize)> {
    let mut unit = units.last()?;
    let mut left = height;
    loop {
        let rows = units.height(unit);
        if rows > left || (rows == left && units.before(unit).is_some()) {
            return Some((unit, rows - left));
        }
        left -= rows;
        unit = units.before(unit)?;
    }
}

/// So many rows further up; the first row at most.
pub fn up(units: &mut impl Units, from: (Unit, usize), rows: usize) -> (Unit, usize) {
    let (mut unit, mut row) = from;
    let mut left = rows;
    while left > row {
        let Some(before) = units.before(unit) else {
            return (unit, 0);
        };
        left -= row;
        unit = before;
        row = units.height(unit);
    }
    (unit, row - left)
}

/// So many rows further down; none if that is at or beyond the newest screen of `height` rows.
pub fn down(
    units: &mut impl Units,
    from: (Unit, usize),
    rows: usize,
    height: usize,
) -> Option<(Unit, usize)> {
    let (mut unit, mut row) = from;
    let mut left = rows;
    while row + left >= units.height(unit) {
        left = (row + left).saturating_sub(units.height(unit));
        row = 0;
        unit = units.after(unit)?;
    }
    let top = (unit, row + left);
    // Is there more below than the screen shows?
    let mut below = units.height(unit) - top.1;
    let mut next = unit;
    while below <= height {
        next = units.after(next)?;
        below += units.height(next);
    }
    Some(top)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Vec<usize>);

    fn unit(n: usize) -> Unit {
        Unit {
            cell: n as u64,
            part: 0,
        }
    }

    impl Units for Fixed {
        fn before(&mut self, unit: Unit) -> Option<Unit> {
            unit.cell.checked_sub(1).map(|cell| Unit { cell, part: 0 })
        }
        fn after(&mut self, u: Unit) -> Option<Unit> {
            let next = u.cell as usize + 1;
            (next < self.0.len()).then(|| unit(next))
        }
        fn last(&mut self) -> Option<Unit> {
            self.0.len().checked_sub(1).map(unit)
        }
        fn height(&mut self, unit: Unit) -> usize {
            self.0[unit.cell as usize]
        }
    }

    #[test]
    fn the_newest_screen_begins_inside_a_unit() {
        let mut units = Fixed(vec![5, 3, 4]);
        assert_eq!(top_of_latest(&mut units, 6), Some((unit(1), 1)));
        assert_eq!(top_of_latest(&mut units, 7), Some((unit(1), 0)));
        assert_eq!(top_of_latest(&mut units, 12), None);
        assert_eq!(top_of_latest(&mut Fixed(vec![]), 12), None);
    }

    #[test]
    fn up_and_down_pass_units_and_stop_at_the_ends() {
        let mut units = Fixed(vec![5, 3, 4, 6]);
        assert_eq!(up(&mut units, (unit(2), 1), 3), (unit(1), 1));
        assert_eq!(up(&mut units, (unit(2), 1), 99), (unit(0), 0));
        assert_eq!(down(&mut units, (unit(0), 4), 2, 4), Some((unit(1), 1)));
        assert_eq!(down(&mut units, (unit(2), 0), 5, 5), None);
        assert_eq!(down(&mut units, (unit(2), 0), 4, 5), Some((unit(3), 0)));
        assert_eq!(down(&mut units, (unit(2), 0), 99, 5), None);
    }

    #[test]
    fn down_undoes_up() {
        let mut units = Fixed((0..40).map(|n| n % 4 + 1).collect());
        for rows in 0..30 {
            let from = (unit(30), 1);
            let top = up(&mut units, from, rows);
            assert_eq!(down(&mut units, top, rows, 8), Some(from), "{rows}");
        }
    }
}
