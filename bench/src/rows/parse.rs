//! `parse`: how fast a program gets rid of what it prints to a terminal that nobody looks at, in
//! ours and in a detached tmux, and what a terminal with a long history takes in memory.
//!
//! Both sides run the same script on a pseudo-terminal of their own. It prints a file, then asks
//! for the cursor: the answer comes when all of the file was read and understood. It tells itself
//! when it began and when it was answered.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use creel_term::{Options, Size, Terminal};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::measure::{Budget, Line, Round, Unit};
use crate::program::{look_until, private_bytes};
use crate::rows::Bench;
use crate::scratch::Scratch;

const ROW: &str = "parse";
const COLUMNS: u16 = 200;
const LINES: u16 = 50;
const HISTORY_LINES: usize = 10_000;
/// What the design asks for.
const TIMES: f64 = 3.0;
/// What holder and keeper together may take; the terminal is one part of it.
const MAX_TERMINAL_BYTES: f64 = 3e6;

/// Makes the line of a number.
type MakeLine = fn(usize) -> String;

/// What is printed, and how much of it.
const TEXTS: [(&str, u64, MakeLine); 3] =
    [("ASCII", 20_000_000, ascii), ("SGR", 10_000_000, colored), ("CJK + emoji", 8_000_000, wide)];

fn word(number: usize) -> &'static str {
    const WORDS: [&str; 8] =
        ["error", "warning:", "src/main.rs", "fn", "compiling", "ok", "0x7ffe", "the"];
    WORDS[number.wrapping_mul(2_654_435_761) >> 7 & 7]
}

fn ascii(number: usize) -> String {
    let words: Vec<&str> = (0..12).map(|place| word(number * 12 + place)).collect();
    words.join(" ")
}

fn colored(number: usize) -> String {
    let piece = |place: usize| {
        let at = number * 12 + place;
        format!("\x1b[{};38;5;{}m{}\x1b[0m", at % 2, at % 256, word(at))
    };
    (0..12).map(piece).collect::<Vec<_>>().join(" ")
}

fn wide(number: usize) -> String {
    const WORDS: [&str; 8] = ["漢字", "日本語", "한국어", "🔥", "👍", "中文字", "e\u{301}", "✅"];
    (0..12).map(|place| WORDS[(number * 5 + place * 3) % 8]).collect::<Vec<_>>().join(" ")
}

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let scratch = Scratch::new(None)?;
    let has_tmux = Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_ok();
    let mut lines = Vec::new();
    for (name, bytes, line) in TEXTS {
        let file = scratch.path("text");
        let text = text(bench.scale.size(bytes), line);
        fs::write(&file, &text)?;
        let script = script(&scratch, &file)?;
        let seconds = |run: &dyn Fn() -> Result<()>| {
            run()?;
            let stamp = |name| stamp(&scratch.path(name));
            Ok::<_, anyhow::Error>((stamp("ended")? - stamp("began")?) / 1e9)
        };
        let rate = |seconds: f64| text.len() as f64 / seconds;
        let mut rounds = Vec::new();
        for _ in 0..bench.scale.count(5) {
            let ours = rate(seconds(&|| on_a_terminal_of_ours(&script))?);
            let bare = match has_tmux {
                true => rate(seconds(&|| in_tmux(&scratch, &script))?),
                false => f64::NAN,
            };
            rounds.push(Round { ours, bare });
        }
        if has_tmux {
            let what = format!("{name} by pseudo-terminal | tmux, detached");
            let line = Line::of_rounds(ROW, what, Unit::BytesPerSecond, &rounds)?;
            lines.push(line.within(Budget::AtLeastTimes(TIMES)));
        } else {
            let ours: Vec<f64> = rounds.iter().map(|round| round.ours).collect();
            let what = format!("{name} by pseudo-terminal");
            lines.push(Line::of_values(ROW, what, Unit::BytesPerSecond, &ours)?);
        }
        let parsed: Vec<f64> = (0..bench.scale.count(5)).map(|_| rate(in_memory(&text))).collect();
        let what = format!("{name} in memory");
        lines.push(Line::of_values(ROW, what, Unit::BytesPerSecond, &parsed)?);
    }
    if !has_tmux {
        eprintln!("creel-bench: {ROW}: skipped {} comparisons: no tmux here", TEXTS.len());
    }
    lines.push(memory(bench)?);
    Ok(lines)
}

fn text(bytes: u64, line: MakeLine) -> Vec<u8> {
    let mut text = Vec::new();
    for number in 0.. {
        text.extend_from_slice(line(number).as_bytes());
        text.push(b'\n');
        if text.len() as u64 >= bytes {
            break;
        }
    }
    text
}

fn script(scratch: &Scratch, file: &Path) -> Result<std::path::PathBuf> {
    let script = scratch.path("script");
    let at = |name: &str| scratch.path(name).display().to_string();
    // Lines end with a carriage return still; nothing is echoed, and one byte is an answer.
    let text = format!(
        "stty -echo -icanon min 1 time 0\nrm -f {ended}\ndate +%s%N > {began}\ncat {file}\n\
         printf '\\033[6n'\ndd bs=1 count=1 > /dev/null 2>&1\ndate +%s%N > {ended}.part\n\
         mv {ended}.part {ended}\n",
        began = at("began"),
        ended = at("ended"),
        file = file.display()
    );
    fs::write(&script, text)?;
    Ok(script)
}

fn stamp(path: &Path) -> Result<f64> {
    let text = fs::read_to_string(path).with_context(|| format!("no {}", path.display()))?;
    Ok(text.trim().parse()?)
}

fn terminal() -> Result<Terminal> {
    let options = Options::new(Size::new(COLUMNS, LINES)?);
    Ok(Terminal::new(Options { history_max_lines: HISTORY_LINES, ..options }))
}

/// Runs the script on a pseudo-terminal that our terminal reads.
fn on_a_terminal_of_ours(script: &Path) -> Result<()> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let slave = fs::OpenOptions::new().read(true).write(true).open(name.to_str()?)?;
    let mut child = Command::new("sh")
        .arg(script)
        .stdin(slave.try_clone()?)
        .stdout(slave.try_clone()?)
        .stderr(slave)
        .spawn()?;
    let mut master = fs::File::from(master);
    let mut terminal = terminal()?;
    let mut buffer = vec![0; 64 * 1024];
    // The end of the last one who has the other side is an error here.
    while let Ok(len @ 1..) = master.read(&mut buffer) {
        let replies = terminal.feed(&buffer[..len]).replies;
        master.write_all(&replies)?;
    }
    ensure!(child.wait()?.success(), "the script failed");
    Ok(())
}

/// Runs the script in a tmux of its own, to which nobody is attached.
fn in_tmux(scratch: &Scratch, script: &Path) -> Result<()> {
    let ended = scratch.path("ended");
    if ended.exists() {
        fs::remove_file(&ended)?;
    }
    let tmux = |arguments: &[&str]| {
        let mut command = Command::new("tmux");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TMUX_TMPDIR", scratch.path("")).env("TERM", "xterm-256color");
        command.args(["-u", "-f", "/dev/null", "-L", "bench"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status()
    };
    let (columns, lines) = (COLUMNS.to_string(), LINES.to_string());
    let history = HISTORY_LINES.to_string();
    let script = format!("sh {}", script.display());
    // The server ends with its last session, which has begun when the option is set.
    let started = tmux(&[
        "start-server",
        ";",
        "set",
        "-g",
        "history-limit",
        &history,
        ";",
        "new-session",
        "-d",
        "-x",
        &columns,
        "-y",
        &lines,
        &script,
    ])?;
    ensure!(started.success(), "tmux does not start");
    look_until("tmux has read everything", || Ok(ended.exists().then_some(())))?;
    // It may have ended already.
    tmux(&["kill-server"])?;
    Ok(())
}

/// Returns the seconds that parsing takes, in pieces as a pseudo-terminal gives them.
fn in_memory(text: &[u8]) -> f64 {
    let Ok(mut terminal) = terminal() else { return f64::NAN };
    let start = Instant::now();
    for chunk in text.chunks(4096) {
        std::hint::black_box(terminal.feed(chunk));
    }
    start.elapsed().as_secs_f64()
}

fn memory(bench: &Bench) -> Result<Line> {
    let own = std::env::current_exe()?;
    let look = |_| {
        let output = Command::new(&own).arg("terminal").output()?;
        ensure!(output.status.success(), "the part failed");
        Ok(String::from_utf8(output.stdout)?.trim().parse()?)
    };
    let found: Vec<f64> = (0..bench.scale.count(5)).map(look).collect::<Result<_>>()?;
    let line = Line::of_values(ROW, "memory, 10,000 lines of 80", Unit::Bytes, &found)?;
    Ok(line.within(Budget::AtMost(MAX_TERMINAL_BYTES)))
}

/// Prints how much more private memory this process has with a full terminal than without.
pub(crate) fn print_memory() -> Result<()> {
    let pid = i32::try_from(std::process::id())?;
    let before = private_bytes(pid)?;
    let mut terminal = terminal()?;
    let line = format!("{}\r\n", "0".repeat(78));
    for _ in 0..HISTORY_LINES + usize::from(LINES) {
        terminal.feed(line.as_bytes());
    }
    ensure!(terminal.history_lines() == HISTORY_LINES, "the history is full");
    println!("{}", private_bytes(pid)? - before);
    Ok(())
}
