//! One control sequence, taken apart.

/// Most parameters and sub-parameters that are read: real terminals stop at 16 to 32.
const MAX_PARAMS: usize = 32;

/// A complete control sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Csi {
    /// `<`, `=`, `>` or `?` before the parameters; 0 when there is none.
    pub(crate) marker: u8,
    /// The byte before the final one; 0 when there is none.
    pub(crate) intermediate: u8,
    /// The last byte, which names the function.
    pub(crate) last: u8,
    values: [u16; MAX_PARAMS],
    /// Bit n: value n is a sub-parameter of the one before.
    is_sub: u32,
    len: usize,
}

impl Csi {
    /// Reads a sequence from the bytes after its introducer; none when it says nothing we know:
    /// too many parameters, or two intermediates.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (&last, body) = bytes.split_last()?;
        let (marker, body) = match body.first() {
            Some(&first @ 0x3c..=0x3f) => (first, &body[1..]),
            _ => (0, body),
        };
        let params_len = body.iter().take_while(|byte| (0x30..=0x3b).contains(*byte)).count();
        let (params, intermediates) = body.split_at(params_len);
        let intermediate = match intermediates {
            [] => 0,
            [one] => *one,
            _ => return None,
        };
        let mut csi =
            Self { marker, intermediate, last, values: [0; MAX_PARAMS], is_sub: 0, len: 0 };
        if params.is_empty() {
            return Some(csi);
        }
        let mut value = 0_u16;
        for byte in params {
            match byte {
                b'0'..=b'9' => {
                    value = value.saturating_mul(10).saturating_add(u16::from(byte - b'0'));
                }
                _ => {
                    csi.push(value)?;
                    if *byte == b':' {
                        csi.is_sub |= 1_u32.checked_shl(u32::try_from(csi.len).ok()?)?;
                    }
                    value = 0;
                }
            }
        }
        csi.push(value)?;
        Some(csi)
    }

    fn push(&mut self, value: u16) -> Option<()> {
        *self.values.get_mut(self.len)? = value;
        self.len += 1;
        Some(())
    }

    /// Returns a parameter, by place; 0 stands for a missing one.
    pub(crate) fn param(&self, place: usize) -> u16 {
        self.values().get(place).copied().unwrap_or(0)
    }

    /// Returns a parameter for which 0 and nothing mean 1.
    pub(crate) fn count(&self, place: usize) -> usize {
        usize::from(self.param(place).max(1))
    }

    /// Returns every value.
    pub(crate) fn values(&self) -> &[u16] {
        &self.values[..self.len]
    }

    /// Returns the parameters, each with its sub-parameters.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[u16]> {
        let mut start = 0;
        std::iter::from_fn(move || {
            if start >= self.len {
                return None;
            }
            let more = (start + 1..self.len).take_while(|at| self.is_sub >> at & 1 == 1).count();
            let group = &self.values[start..=start + more];
            start += more + 1;
            Some(group)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Csi;

    fn check(bytes: &[u8], expected: &[&[u16]]) {
        let csi = Csi::parse(bytes).unwrap();
        assert_eq!(csi.groups().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn parameters_keep_their_sub_parameters() {
        check(b"m", &[]);
        check(b"4:3;38:2::1:2:3;7m", &[&[4, 3], &[38, 2, 0, 1, 2, 3], &[7]]);
        check(b"?1000;1006h", &[&[1000], &[1006]]);
        check(b";5H", &[&[0], &[5]]);
        check(b"99999999d", &[&[u16::MAX]]);
    }

    #[test]
    fn a_sequence_with_too_many_parameters_is_nothing() {
        assert!(Csi::parse(format!("{}m", "1;".repeat(40)).as_bytes()).is_none());
        assert!(Csi::parse(b"1 !p").is_none());
    }
}
