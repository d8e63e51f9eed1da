//! What is known of rows without looking at their cells, so that those that leave the screen are
//! packed in the time that their text takes, not in that of their width.

/// What is known of one row. Never more than is true.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// All cells from this column on are blank, with no colour.
    pub(super) used: usize,
    /// All cells before that are one ASCII character each, in the usual look.
    pub(super) is_plain: bool,
}

impl Extent {
    /// Of a row that was just emptied, without a colour.
    pub(super) const EMPTY: Self = Self { used: 0, is_plain: true };

    /// Of any row.
    pub(super) const UNKNOWN: Self = Self { used: usize::MAX, is_plain: false };

    /// Notes that cells up to a column were written.
    pub(super) fn write(&mut self, end: usize, is_plain: bool) {
        self.used = self.used.max(end);
        self.is_plain &= is_plain;
    }
}
