use std::ffi::OsString;
use std::path::Path;

use super::{Git, GitError};

/// A git that finds only what stands in `dir`.
fn git_in(dir: &Path) -> Git {
    let path: OsString = format!("{}:/usr/bin:/bin", dir.display()).into();
    Git::new(move |name| (name == "PATH").then(|| path.clone()))
}

/// Makes a directory in which git is a script.
fn scripted(script: &str) -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("git");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

fn check(script: &str, expected: Result<&str, &str>) {
    let dir = scripted(script);
    let found = git_in(dir.path()).read(Path::new("/"), ["verb"]).line();
    let found = found.map_err(|error| error.to_string());
    assert_eq!(found.as_deref().map_err(String::as_str), expected);
}

#[test]
fn an_answer_is_what_was_printed() {
    check("echo hello", Ok("hello"));
    check("head -c 200000 /dev/zero | tr '\\0' x | wc -c >&2; printf done", Ok("done"));
}

#[test]
fn a_failure_carries_the_end_of_the_complaint() {
    check(
        "echo one >&2; echo two >&2; exit 3",
        Err("git verb in / ended with exit code 3: one; two"),
    );
    let long = "i=0; while [ $i -lt 3000 ]; do echo xxxxxxxxx >&2; i=$((i+1)); done; exit 1";
    check(
        &format!("{long} # bounded"),
        Err(&format!(
            "git verb in / ended with exit code 1: {}",
            // 4096 bytes are 409 lines of ten and the rest of one.
            std::iter::once("xxxxx")
                .chain(std::iter::repeat_n("xxxxxxxxx", 409))
                .collect::<Vec<_>>()
                .join("; ")
        )),
    );
}

#[test]
fn nothing_of_the_callers_environment_reaches_git() {
    check("env | grep -c '^GIT_DIR=' ; true", Ok("0"));
    check("echo $GIT_TERMINAL_PROMPT $GIT_OPTIONAL_LOCKS $LC_ALL", Ok("0 0 C"));
}

#[test]
fn a_child_that_keeps_the_pipe_open_holds_nothing_up() {
    // The child lives until the pipe that it reads is closed, which our end of it is at the end.
    check("(exec cat <&9 9<&-) 9<&0 & echo done", Ok("done"));
}

#[test]
fn a_missing_git_is_told_apart() {
    let empty = tempfile::tempdir().unwrap();
    let path: OsString = empty.path().into();
    let git = Git::new(move |name| (name == "PATH").then(|| path.clone()));
    let error = git.read(Path::new("/"), ["version"]).run().unwrap_err();
    assert!(matches!(error, GitError::Missing { .. }), "{error:?}");
}

#[test]
fn records_may_hold_newlines_and_any_bytes() {
    let git = Git::new(|name| std::env::var_os(name));
    let mut found = Vec::new();
    let call = git.read(Path::new("/"), ["--version"]);
    call.records(|record| found.push(record.to_vec())).unwrap();
    // No NUL at the end, no record.
    assert_eq!(found, Vec::<Vec<u8>>::new());
}

#[test]
fn what_takes_too_long_is_ended_with_all_it_started() {
    // Both wait for a writer that never comes; one of them hides in a group of its own.
    let dir = scripted("d=${0%/*}; mkfifo $d/never; set -m; cat $d/never & cat $d/never");
    let git = git_in(dir.path());
    let mut call = git.read(Path::new("/"), ["verb"]);
    call.limit = std::time::Duration::from_millis(300);
    let error = call.run().unwrap_err();
    assert!(matches!(error, GitError::TimedOut { .. }), "{error:?}");
    let name = dir.path().join("never");
    let table = creel_sys::tree::ProcessTable::read().unwrap();
    let left = table.entries().filter(|entry| {
        creel_sys::tree::cmdline(entry.pid).iter().any(|argument| *argument == *name)
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn a_flood_is_cut_off_and_ended() {
    let dir = scripted("exec yes");
    let git = git_in(dir.path());
    let mut count = 0;
    let error = git.read(Path::new("/"), ["verb"]).stream(|bytes| {
        count += bytes.len();
        if count > 1 << 20 { Err(std::io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
    });
    assert!(matches!(error, Err(GitError::Io { .. })), "{error:?}");
}
