//! The stack of keyboard flags that programs push and pop.

/// Most entries above the first. Real terminals keep about as many and forget the oldest; a
/// program that pushes for ever must not grow.
pub(crate) const MAX_PUSHED: usize = 15;

/// Every flag that is defined.
const KNOWN_FLAGS: u8 = 0b1_1111;

/// The flags in force, and those that are uncovered by pops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keyboard {
    /// Never empty; the last one is in force.
    stack: Vec<u8>,
}

impl Keyboard {
    pub(crate) fn new() -> Self {
        Self { stack: vec![0] }
    }

    pub(crate) fn flags(&self) -> u8 {
        self.stack.last().copied().unwrap_or(0)
    }

    /// Returns all flags, the oldest first.
    pub(crate) fn all(&self) -> &[u8] {
        &self.stack
    }

    pub(crate) fn push(&mut self, flags: u16) {
        if self.stack.len() > MAX_PUSHED {
            self.stack.remove(0);
        }
        self.stack.push(known(flags));
    }

    /// Pops some; popping all leaves no flag set.
    pub(crate) fn pop(&mut self, count: usize) {
        let left = self.stack.len().saturating_sub(count);
        self.stack.truncate(left);
        if self.stack.is_empty() {
            self.stack.push(0);
        }
    }

    /// Changes the flags in force: 2 adds, 3 removes, all else replaces.
    pub(crate) fn change(&mut self, flags: u16, how: u16) {
        if let Some(top) = self.stack.last_mut() {
            match how {
                2 => *top |= known(flags),
                3 => *top &= !known(flags),
                _ => *top = known(flags),
            }
        }
    }
}

fn known(flags: u16) -> u8 {
    u8::try_from(flags & u16::from(KNOWN_FLAGS)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Keyboard, MAX_PUSHED};

    fn check(steps: &[(char, u16)], expected: &[u8]) {
        let mut keyboard = Keyboard::new();
        for (step, value) in steps {
            match step {
                '>' => keyboard.push(*value),
                '<' => keyboard.pop(usize::from(*value)),
                '=' => keyboard.change(*value, 1),
                '+' => keyboard.change(*value, 2),
                _ => keyboard.change(*value, 3),
            }
        }
        assert_eq!(keyboard.all(), expected);
    }

    #[test]
    fn a_pop_uncovers_what_was_pushed_before() {
        check(&[('>', 5), ('>', 7), ('<', 1)], &[0, 5]);
        check(&[('=', 1), ('>', 5), ('<', 1)], &[1]);
        check(&[('>', 5), ('<', 9)], &[0]);
        check(&[('>', 1), ('+', 4), ('-', 1)], &[0, 4]);
        check(&[('>', 0xff)], &[0, 31]);
    }

    #[test]
    fn pushing_for_ever_does_not_grow() {
        check(&[('>', 5); 5000], &[5; MAX_PUSHED + 1]);
    }
}
