use super::*;

use std::fs::File;
use std::io::{Read, Write};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{FdFlags, fcntl_getfd};

use crate::Deadline;
use crate::exit::Exit;
use crate::os::scripted::LONG;
use crate::poll::wait_readable;
use crate::spawn::{SessionCommand, spawn_on_terminal, spawn_session};

const SIZE: Size = Size { columns: 91, lines: 17 };

fn command(slave: &OwnedFd, script: &str) -> SessionCommand {
    let end = || slave.try_clone().expect("a descriptor");
    SessionCommand {
        program: "/bin/sh".into(),
        args: ["-c", script].map(Into::into).to_vec(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: "/".into(),
        stdin: end(),
        stdout: end(),
        stderr: end(),
        inherited: vec![],
        cgroup: None,
    }
}

/// Reads until `text` came.
fn read_until(master: &mut File, text: &str) -> String {
    let deadline = Deadline::after(LONG);
    let mut read = String::new();
    while !read.contains(text) {
        let ready = wait_readable(&[master.as_fd()], deadline.remaining()).expect("a poll");
        assert!(!ready.is_empty(), "only {read:?} came");
        let mut chunk = [0; 1024];
        let count = master.read(&mut chunk).expect("bytes");
        read.push_str(&String::from_utf8_lossy(&chunk[..count]));
    }
    read
}

/// Runs a script on a terminal and returns what its screen was given, up to `until`.
fn check(script: &str, until: &str, expected: Exit) -> String {
    let Pty { master, slave } = Pty::open(SIZE).expect("a terminal");
    let mut master = File::from(master);
    let child = spawn_on_terminal(command(&slave, script)).expect("a child");
    let text = read_until(&mut master, until);
    assert_eq!(child.wait(LONG).expect("a pidfd"), Some(expected), "{text}");
    text
}

#[test]
fn a_terminal_has_its_size_before_the_program_starts() {
    assert_eq!(check("stty size", "\n", Exit::Code(0)), "17 91\r\n");
}

#[test]
fn the_program_is_controlled_by_its_terminal_and_leads_its_foreground() {
    let script = "tty -s </dev/tty && ps -o sid=,pgid=,tpgid= -p $$ | tr -d '\\n'; echo; exit 3";
    let text = check(script, "\n", Exit::Code(3));
    let ids: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(ids.len(), 3, "{text}");
    assert!(ids.iter().all(|id| *id == ids[0]), "{text}");
}

#[test]
fn a_key_that_interrupts_reaches_the_program() {
    let Pty { master, slave } = Pty::open(SIZE).expect("a terminal");
    let mut master = File::from(master);
    let child = spawn_on_terminal(command(&slave, "echo up; read x")).expect("a child");
    read_until(&mut master, "up");
    master.write_all(b"\x03").expect("takes a key");
    assert_eq!(child.wait(LONG).expect("a pidfd"), Some(Exit::Signal(2)));
}

#[test]
fn a_terminal_outlives_the_end_of_its_program_without_losing_its_last_words() {
    let Pty { master, slave } = Pty::open(SIZE).expect("a terminal");
    let mut master = File::from(master);
    let child = spawn_on_terminal(command(&slave, "seq 1 300; printf last")).expect("a child");
    assert_eq!(child.wait(LONG).expect("a pidfd"), Some(Exit::Code(0)));
    assert!(read_until(&mut master, "last").contains("300\r\nlast"));
    fcntl_setfl(&master, fcntl_getfl(&master).expect("flags") | OFlags::NONBLOCK).expect("flags");
    let mut byte = [0];
    let error = master.read(&mut byte).expect_err("no end while a slave is open");
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    drop(slave);
    assert_eq!(master.read(&mut byte).expect_err("the end").raw_os_error(), Some(libc::EIO));
}

#[test]
fn a_program_that_cannot_run_is_an_error_on_a_terminal_too() {
    let pty = Pty::open(SIZE).expect("a terminal");
    let mut command = command(&pty.slave, "");
    command.program = "/nonexistent/program".into();
    let error = spawn_on_terminal(command).expect_err("no such program");
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn only_a_terminal_can_control_a_session() {
    let null = File::open("/dev/null").expect("a device");
    let error = spawn_on_terminal(command(&null.into(), "true")).expect_err("no terminal");
    assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
}

#[test]
fn both_ends_close_on_exec_and_take_a_size() {
    let Pty { master, slave } = Pty::open(SIZE).expect("a terminal");
    for end in [&master, &slave] {
        assert!(fcntl_getfd(end).expect("flags").contains(FdFlags::CLOEXEC));
        assert_eq!(size_of(end).expect("a size"), SIZE);
    }
    let size = Size { columns: 1, lines: 2 };
    resize(&master, size).expect("a size");
    assert_eq!(size_of(&slave).expect("a size"), size);
    let child = spawn_session(command(&slave, "exec tty -s </dev/tty")).expect("a child");
    assert!(!child.wait(LONG).expect("a pidfd").expect("an end").is_success());
}
