//! The host's log: lines on standard error, which a detached host has in a file.

/// Writes one line, with the time before it. A closed standard error is no failure.
macro_rules! say {
    ($($format:tt)*) => {
        $crate::say::line(&format!($($format)*))
    };
}

pub(crate) use say;

/// Characters of a line.
const MAX_LINE_CHARS: usize = 2000;

pub(crate) fn line(text: &str) {
    use std::io::Write as _;
    let ms = i64::try_from(creel_sys::boot::wall_time_ms()).unwrap_or(i64::MAX);
    let time = creel_record::Timestamp::from_millis(ms);
    let text: String =
        text.chars().take(MAX_LINE_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    // Whoever closed it wants no talk.
    let _ = writeln!(std::io::stderr(), "{time} creel host: {text}");
}
