//! Two other emulators look at redraws, and at how we read streams.
//!
//! `vt100` shares no code with ours but its parser of bytes; it models cells, colours, cursor,
//! modes, the alternate screen and titles. The other is the terminal of `alacritty_terminal`, whose
//! grid is ours too: it judges what we do to the grid.

use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::term::test::TermSize;
use alacritty_terminal::term::{Config, Term};
use alacritty_terminal::vte::ansi::{Color, Processor, Timeout};
use creel_term::Terminal;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::captures::{self, COLUMNS, LINES};
use crate::{show, terminal};

/// What two emulators can both tell: rows of cells with their looks, the cursor, the title.
#[derive(Debug, PartialEq)]
struct View {
    rows: Vec<Vec<String>>,
    cursor: (usize, usize),
    title: String,
}

impl View {
    fn difference(&self, other: &Self) -> String {
        let mut lines = Vec::new();
        for (at, (own, others)) in self.rows.iter().zip(&other.rows).enumerate() {
            let differs = own.iter().zip(others).position(|(own, other)| own != other);
            if let Some(cell) = differs {
                lines.push(format!("row {at} cell {cell}: {:?} | {:?}", own[cell], others[cell]));
            }
        }
        lines.push(format!(
            "{:?} {:?} | {:?} {:?}",
            self.cursor, self.title, other.cursor, other.title
        ));
        lines.join("\n")
    }
}

#[derive(Default)]
struct Title(String);

impl vt100::Callbacks for Title {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.0 = String::from_utf8_lossy(title).into_owned();
    }
}

fn in_vt100(bytes: &[u8], (columns, lines): (u16, u16)) -> View {
    let side = |side: u16| side.try_into().expect("no side is 0");
    let mut parser =
        vt100::Parser::new_with_callbacks(side(lines), side(columns), 0, Title::default());
    parser.process(bytes);
    let screen = parser.screen();
    let cell = |row, column| {
        screen.cell(row, column).map_or(String::new(), |cell| {
            // It erases with the whole pen, others with its background.
            if cell.contents().trim().is_empty() {
                return format!("{:?}", cell.bgcolor());
            }
            let text = cell.contents();
            let looks = [
                cell.bold(),
                cell.dim(),
                cell.italic(),
                cell.underline(),
                cell.inverse(),
                cell.is_wide(),
            ];
            format!("{text} {looks:?} {:?} {:?}", cell.fgcolor(), cell.bgcolor())
        })
    };
    let (row, column) = screen.cursor_position();
    View {
        rows: (0..lines)
            .map(|row| (0..columns).map(|column| cell(row, column)).collect())
            .collect(),
        cursor: (row.into(), column.into()),
        title: parser.callbacks().0.clone(),
    }
}

/// Output is shown at once, synchronized or not: a recording may be cut in between.
#[derive(Default)]
struct AtOnce;

impl Timeout for AtOnce {
    fn set_timeout(&mut self, _: std::time::Duration) {}
    fn clear_timeout(&mut self) {}
    fn pending_timeout(&self) -> bool {
        false
    }
}

fn in_alacritty(bytes: &[u8], (columns, lines): (u16, u16)) -> View {
    let size = TermSize::new(columns.into(), lines.into());
    let mut term = Term::new(Config::default(), &size, VoidListener);
    let mut processor: Processor<AtOnce> = Processor::new();
    processor.advance(&mut term, bytes);
    let color = |color: Color| match color {
        Color::Named(named) if (named as usize) < 16 => format!("Indexed({})", named as usize),
        Color::Named(_) => "Default".to_owned(),
        Color::Indexed(index) => format!("Indexed({index})"),
        Color::Spec(rgb) => format!("{},{},{}", rgb.r, rgb.g, rgb.b),
    };
    let grid = term.grid();
    let cell = |row: usize, column: usize| {
        let cell = &grid[Line(i32::try_from(row).unwrap_or(0))][Column(column)];
        let left_out = Flags::WRAPLINE | Flags::LEADING_WIDE_CHAR_SPACER;
        let flags = cell.flags.difference(left_out).bits();
        let c = if cell.c == '\t' { ' ' } else { cell.c };
        let marks = cell.zerowidth().unwrap_or_default();
        format!("{c}{marks:?} {flags:x} {} {}", color(cell.fg), color(cell.bg))
    };
    let point = grid.cursor.point;
    View {
        rows: (0..grid.screen_lines())
            .map(|row| (0..grid.columns()).map(|column| cell(row, column)).collect())
            .collect(),
        cursor: (usize::try_from(point.line.0).unwrap_or(0), point.column.0),
        title: String::new(),
    }
}

type Peer = fn(&[u8], (u16, u16)) -> View;

/// Checks that a peer sees the same in a stream and in our redraw of it.
fn check(peer: Peer, bytes: &[u8], (columns, lines): (u16, u16)) {
    let mut original: Terminal = terminal(columns, lines);
    original.feed(bytes);
    let redraw = original.redraw(Default::default());
    let (mut live, again) = (peer(bytes, (columns, lines)), peer(&redraw, (columns, lines)));
    // Neither peer tells titles that were pushed and popped; ours does.
    if !live.title.is_empty() {
        original.title().clone_into(&mut live.title);
    }
    assert!(
        live == again,
        "{}\n{}",
        show(&bytes[bytes.len().saturating_sub(500)..]),
        live.difference(&again)
    );
}

#[test]
fn vt100_sees_every_recording_in_its_redraw() {
    for capture in captures::all() {
        for cut in captures::cuts(&capture) {
            check(in_vt100, &capture.bytes[..cut], (COLUMNS, LINES));
        }
    }
}

#[test]
fn alacritty_sees_every_recording_in_its_redraw() {
    for capture in captures::all() {
        for cut in captures::cuts(&capture) {
            check(in_alacritty, &capture.bytes[..cut], (COLUMNS, LINES));
        }
    }
}

/// Returns the text of each row without its blanks, from cells as a peer tells them.
fn texts(view: &View) -> Vec<String> {
    let c = |cell: &String| cell.chars().next().unwrap_or(' ');
    view.rows.iter().map(|row| row.iter().map(c).filter(|c| *c != ' ').collect()).collect()
}

#[test]
fn alacritty_reads_every_recording_as_we_do() {
    for capture in captures::all() {
        for cut in captures::cuts(&capture) {
            let bytes = &capture.bytes[..cut];
            let mut ours = terminal(COLUMNS, LINES);
            ours.feed(bytes);
            let state = ours.state();
            let c = |cell: &creel_term::StyledCell| cell.text.chars().next().unwrap_or(' ');
            let own: Vec<String> = state
                .rows
                .iter()
                .map(|row| row.cells.iter().map(c).filter(|c| *c != ' ').collect())
                .collect();
            let peer = in_alacritty(bytes, (COLUMNS, LINES));
            assert_eq!(own, texts(&peer), "{} at {cut}", capture.name);
            assert_eq!(
                (state.cursor.row, state.cursor.column),
                peer.cursor,
                "{} at {cut}",
                capture.name
            );
        }
    }
}

/// Streams of what all three model, and agree on: they do not on what is erased while a wrap is
/// pending, where the cursor goes with margins or above them, and what a wide character leaves in the last
/// column; `vt100` has margins for each screen and fills no row that scrolls in with the background.
fn plain(backgrounds: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        1 => prop::sample::select(backgrounds).prop_map(|text| text.as_bytes().to_vec()),
        6 => "[a-z ]{1,12}".prop_map(String::into_bytes),
        2 => prop::sample::select(vec!["\x1b[2;3H漢字", "e\u{301}", "─", "⠋", "\r\n", "\r\n", "\r", "\r\x1b[3C"])
            .prop_map(|text| text.as_bytes().to_vec()),
        3 => (1_u8..9, 1_u8..22).prop_map(|(row, column)| format!("\x1b[{row};{column}H").into_bytes()),
        4 => prop::sample::select(vec![
            "\x1b[m", "\x1b[1m", "\x1b[3m", "\x1b[4m", "\x1b[7m", "\x1b[31m",  "\x1b[38;5;99m",
            "\x1b[4;2H\x1b[K", "\x1b[2K", "\r\x1b[1K", "\x1b[3;3H\x1b[J", "\x1b[2J", "\r\x1b[3L", "\r\x1b[2M", "\x1b[r\x1b[?1049h\x1b[r\x1b[H\x1b[J",
            "\x1b[r\x1b[?1049l\x1b[m\x1b[r\x1b[H",
            "\x1b]2;title\x07", "\x1b[?25l", "\x1b7", "\x1b[2;4r\x1b[H", "\x1b[r\x1b[H", "\x1b[r\r\x1bM",
        ]).prop_map(|text| text.as_bytes().to_vec()),
    ];
    vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn vt100_sees_any_plain_stream_in_its_redraw(bytes in plain(&["\x1b[7m"])) {
        check(in_vt100, &bytes, (20, 6));
    }

    #[test]
    fn alacritty_sees_any_plain_stream_in_its_redraw(bytes in plain(&["\x1b[104m", "\x1b[48;2;1;2;3m"])) {
        check(in_alacritty, &bytes, (20, 6));
    }
}
