//! An agent that writes without end.

use creel_record::EndReason;

use crate::Test;
use crate::crashes::keeper_of;
use crate::scene::{LONG, Scene};

/// Bytes of output.
const FLOOD: u64 = 200 << 20;

/// The most memory that holder and keeper together may have dirtied at any time.
const MAX_DIRTY_KIB: u64 = 16 * 1024;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        ("flood::a_flood_is_bounded_on_disk_and_in_memory", bounded),
        ("flood::without_bounds_nothing_is_written", off),
    ]
}

fn bounded() {
    let scene = Scene::new();
    let mut done = scene.pipe("done");
    let go = scene.pipe("go");
    let mut plan = scene.plan(&format!(
        "yes 'a line of the flood' | head -c {FLOOD}; echo > {}; read line < {}; exit 2",
        done.path.display(),
        go.path.display()
    ));
    plan.watch.output_bytes = 1 << 20;
    plan.watch.transcript_bytes = 1 << 20;
    let live = scene.launch(plan);
    done.line();
    let keeper = keeper_of(&live).expect("a keeper");
    let status = live.client().status(LONG).expect("answers");
    let dirty: u64 =
        [keeper.pid, live.launched.holder.pid].iter().map(|pid| peak_dirty_kib(*pid)).sum();
    assert!(dirty < MAX_DIRTY_KIB, "{dirty} KiB");
    assert!(status.output_bytes <= FLOOD);
    std::fs::write(&go.path, "now\n").expect("writes");
    live.check_end((EndReason::ExitNonzero, Some(2), None));

    let output = size_of(&creel_keeper::output_dir(&scene.run_dir(1)));
    assert!(output <= 1 << 20, "{output} bytes of output");
    assert!(output >= 1 << 19, "{output} bytes of output");
    assert!(scene.output(1).ends_with(b"a line of the flood\n"));
    let thread = scene.store.thread_path(scene.id, scene.thread);
    let transcript = thread.metadata().expect("a transcript").len()
        + thread.with_extension("1.jsonl").metadata().expect("its older half").len();
    assert!(transcript <= (1 << 20) + (64 << 10), "{transcript} bytes of transcript");
}

fn off() {
    let scene = Scene::new();
    let mut plan = scene.plan("seq 100000; exit 2");
    plan.watch.output_bytes = 0;
    plan.watch.transcript_bytes = 0;
    scene.launch(plan).check_end((EndReason::ExitNonzero, Some(2), None));
    assert!(!creel_keeper::output_dir(&scene.run_dir(1)).exists());
    let thread = scene.store.thread_path(scene.id, scene.thread);
    assert_eq!(thread.metadata().map_or(0, |stat| stat.len()), 0);
}

fn size_of(dir: &std::path::Path) -> u64 {
    std::fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").metadata().expect("a file").len())
        .sum()
}

/// The most anonymous memory the process has had: of its peak, what is not of files.
fn peak_dirty_kib(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let field = |name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).expect("a field");
        line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
    };
    field("VmHWM:").saturating_sub(field("RssFile:"))
}
