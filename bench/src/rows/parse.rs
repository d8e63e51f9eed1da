//! `parse`: how fast a program gets rid of what it prints to a terminal that nobody looks at, in
//! ours and in a detached tmux, and what a terminal with a long history takes in memory.
//!
//! Both sides run the same script on a pseudo-terminal of their own. It prints a file, then asks
//! for the cursor: the answer comes when all of the file was read and understood. What is held to
//! the budget is the time that the reading program itself was on a processor until then, since that
//! is parsing. What the kernel did for it, and how long all took on the clock, is printed beside: a
//! faster reader finds less to read each time, and so makes more calls for the same bytes.

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
/// The unit of a process's user time, which is the same on every machine we run on.
const TICKS_A_SECOND: f64 = 100.0;
/// What holder and keeper together may take; the terminal is one part of it.
const MAX_TERMINAL_BYTES: f64 = 3e6;

/// Makes the line of a number.
type MakeLine = fn(usize) -> String;

/// What is printed, and how much of it.
const TEXTS: [(&str, u64, MakeLine); 3] =
    [("ASCII", 60_000_000, ascii), ("SGR", 30_000_000, colored), ("CJK + emoji", 12_000_000, wide)];

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

/// What it took until the script was answered, in seconds.
struct Took {
    /// On the clock.
    clock: f64,
    /// On a processor, kernel and program.
    processor: f64,
    /// On a processor, in the program.
    own: f64,
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
        let rate = |seconds: f64| text.len() as f64 / seconds;
        let (mut own, mut processor, mut clock) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..bench.scale.count(5) {
            let ours = on_a_terminal_of_ours(&scratch, &script)?;
            let peer = match has_tmux {
                true => in_tmux(&scratch, &script)?,
                false => Took { clock: f64::NAN, processor: f64::NAN, own: f64::NAN },
            };
            let round =
                |took: fn(&Took) -> f64| Round { ours: rate(took(&ours)), bare: rate(took(&peer)) };
            own.push(round(|took| took.own));
            processor.push(round(|took| took.processor));
            clock.push(round(|took| took.clock));
        }
        let beside = if has_tmux { " | tmux, detached" } else { "" };
        let row = |what: &str, rounds: &[Round]| {
            let what = format!("{name}, {what}{beside}");
            Line::of_rounds(ROW, what, Unit::BytesPerSecond, rounds)
        };
        let held = if has_tmux { Budget::AtLeastTimes(TIMES) } else { Budget::None };
        lines.push(row("a second of parsing", &own)?.within(held));
        lines.push(row("parsing and reading", &processor)?);
        lines.push(row("on the clock", &clock)?);
        let parsed: Vec<f64> = (0..bench.scale.count(5)).map(|_| rate(in_memory(&text))).collect();
        let what = format!("{name}, from memory");
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
    // Lines end with a carriage return still; nothing is echoed, and one byte is an answer. The
    // script stays for a while, so that its terminal can be looked at.
    let text = format!(
        "stty -echo -icanon min 1 time 0\ndate +%s%N > {began}\ncat {file}\n\
         printf '\\033[6n'\ndd bs=1 count=1 > /dev/null 2>&1\ndate +%s%N > {ended}.part\n\
         mv {ended}.part {ended}\nexec sleep 60\n",
        began = at("began"),
        ended = at("ended"),
        file = file.display()
    );
    fs::write(&script, text)?;
    Ok(script)
}

/// Returns what the script says that it took.
fn clock(scratch: &Scratch) -> Result<f64> {
    let ended = scratch.path("ended");
    look_until("the script is answered", || Ok(ended.exists().then_some(())))?;
    let seconds = (stamp(&ended)? - stamp(&scratch.path("began"))?) / 1e9;
    fs::remove_file(ended)?;
    Ok(seconds)
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
fn on_a_terminal_of_ours(scratch: &Scratch, script: &Path) -> Result<Took> {
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
    let before = processor_seconds("self")?;
    loop {
        let len = master.read(&mut buffer)?;
        let replies = terminal.feed(&buffer[..len]).replies;
        if !replies.is_empty() {
            master.write_all(&replies)?;
            break;
        }
    }
    let after = processor_seconds("self")?;
    let clock = clock(scratch)?;
    child.kill()?;
    child.wait()?;
    Ok(Took { clock, processor: after.0 - before.0, own: after.1 - before.1 })
}

/// Returns the seconds that a process with one thread was on a processor, in all and in the
/// program itself.
fn processor_seconds(process: &str) -> Result<(f64, f64)> {
    let all = fs::read_to_string(format!("/proc/{process}/schedstat"))?;
    let all: f64 = all.split(' ').next().unwrap_or_default().parse()?;
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    let own: f64 = fields.split(' ').nth(11).context("no user time")?.parse()?;
    Ok((all / 1e9, own / TICKS_A_SECOND))
}

/// Runs the script in a tmux of its own, to which nobody is attached.
fn in_tmux(scratch: &Scratch, script: &Path) -> Result<Took> {
    let tmux = |arguments: &[&str]| {
        let mut command = Command::new("tmux");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TMUX_TMPDIR", scratch.path("")).env("TERM", "xterm-256color");
        command.args(["-u", "-f", "/dev/null", "-L", "bench"]).args(arguments);
        command.stdin(Stdio::null()).output()
    };
    let (columns, lines) = (COLUMNS.to_string(), LINES.to_string());
    let history = HISTORY_LINES.to_string();
    let script = format!("exec sh {}", script.display());
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
    ensure!(started.status.success(), "tmux does not start");
    let clock = clock(scratch)?;
    let pid = String::from_utf8(tmux(&["display-message", "-p", "#{pid}"])?.stdout)?;
    let (processor, own) = processor_seconds(pid.trim())?;
    tmux(&["kill-server"])?;
    Ok(Took { clock, processor, own })
}

/// Returns the seconds that parsing takes, in pieces as a pseudo-terminal gives them.
fn in_memory(text: &[u8]) -> f64 {
    let Ok(mut terminal) = terminal() else { return f64::NAN };
    let text: Vec<u8> = text.split_inclusive(|byte| *byte == b'\n').flat_map(with_return).collect();
    let start = Instant::now();
    for chunk in text.chunks(4096) {
        std::hint::black_box(terminal.feed(chunk));
    }
    start.elapsed().as_secs_f64()
}

/// Returns a line as a pseudo-terminal hands it on.
fn with_return(line: &[u8]) -> Vec<u8> {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    [text, b"\r\n"].concat()
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
