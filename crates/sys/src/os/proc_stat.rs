//! Reading `/proc/<pid>/stat`, whose second field may hold anything.

use crate::os::tree::ProcessEntry;

/// `PF_KTHREAD` of the kernel's task flags.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Parses `/proc/<pid>/stat`.
///
/// The name of the program stands in parentheses and may itself hold spaces, parentheses and
/// newlines; what follows the last closing one is numbers only.
pub(super) fn parse(text: &[u8]) -> Option<ProcessEntry> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(&text[..open]).ok()?.trim().parse().ok()?;
    let comm = String::from_utf8_lossy(text.get(open + 1..close)?).into_owned();
    let rest = std::str::from_utf8(&text[close + 1..]).ok()?;
    // The first of these is field 3 of proc_pid_stat(5).
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    Some(ProcessEntry {
        pid,
        comm,
        state: field(3)?.chars().next()?,
        ppid: field(4)?.parse().ok()?,
        pgid: field(5)?.parse().ok()?,
        sid: field(6)?.parse().ok()?,
        is_kernel_thread: field(9)?.parse::<u64>().ok()? & KERNEL_THREAD != 0,
        thread_count: field(20)?.parse().ok()?,
        start_ticks: field(22)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(comm: &str, state_and_threads: (char, u32), expected_dead: bool) {
        let (state, threads) = state_and_threads;
        let text = format!(
            "4711 ({comm}) {state} 17 4711 4000 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 {threads} 0 987654 1 2 3"
        );
        let entry = parse(text.as_bytes()).expect("a stat line");
        let expected = ProcessEntry {
            pid: 4711,
            ppid: 17,
            pgid: 4711,
            sid: 4000,
            start_ticks: 987_654,
            state,
            thread_count: threads,
            is_kernel_thread: false,
            comm: comm.to_owned(),
        };
        assert_eq!(entry, expected);
        assert_eq!(entry.is_dead(), expected_dead);
    }

    #[test]
    fn a_program_name_may_hold_anything() {
        for comm in ["sleep", "a b", "a) R 1 (b", "((", "))", "", "line\nbreak) Z", "é"] {
            check(comm, ('S', 1), false);
        }
    }

    #[test]
    fn a_zombie_is_dead_unless_threads_outlive_its_first() {
        check("sh", ('Z', 1), true);
        check("sh", ('Z', 0), true);
        check("sh", ('X', 1), true);
        check("sh", ('Z', 3), false);
        check("sh", ('T', 1), false);
    }

    #[test]
    fn a_thread_of_the_kernel_is_told_by_its_flags() {
        let entry = parse(b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 5 0 0 20 0 1 0 7 0");
        assert!(entry.expect("a stat line").is_kernel_thread);
    }

    #[test]
    fn what_is_no_stat_line_is_refused() {
        for text in ["", "12", "12 (a", "12 (a) S", "x (a) S 1 2 3", ") 12 (", "12 )a( S 1"] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }
}
