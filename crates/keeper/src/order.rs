//! What a holder and its keepers are told about their run.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use creel_api::plan::Plan;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, memfd_create};
use serde::{Deserialize, Serialize};

use crate::inherited;

/// Where the agent's processes are grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grouping {
    /// In a cgroup of the run's own where one can be made.
    #[default]
    OwnCgroup,
    /// Wherever they are; process sessions and environments tell them apart.
    None,
}

/// The plan of a run and what its launcher worked out beside it.
///
/// It travels in anonymous memory that is inherited: its environment may hold credentials.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) plan: Plan,
    pub(crate) run_number: u64,
    /// The program to start keepers and planners with.
    pub(crate) exe: PathBuf,
    /// Where the program was when the run was started; keepers are started from what is there when
    /// they are, so that a newer program takes over. None when that isn't known.
    #[serde(default)]
    pub(crate) installed: Option<PathBuf>,
    pub(crate) grouping: Grouping,
    /// How long the keeper asks again for what is owed when it can't be planned.
    pub(crate) patience_ms: u64,
    pub(crate) run_dir: PathBuf,
    pub(crate) thread_path: PathBuf,
}

impl Order {
    /// Writes the order into anonymous memory that can't be changed afterwards.
    pub(crate) fn seal(&self) -> io::Result<OwnedFd> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut file = File::from(memfd_create("creel-order", flags)?);
        file.write_all(&serde_json::to_vec(self)?)?;
        let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        fcntl_add_seals(&file, seals)?;
        Ok(file.into())
    }

    /// Reads an order without moving the shared file position.
    pub(crate) fn read(fd: impl AsFd) -> io::Result<Self> {
        let stat = fstat(&fd)?;
        let len = usize::try_from(stat.st_size).map_err(|_| io::ErrorKind::InvalidData)?;
        let mut bytes = vec![0; len];
        let mut done = 0;
        while done < len {
            match rustix::io::pread(&fd, &mut bytes[done..], done as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => done += count,
            }
        }
        Ok(serde_json::from_slice(&bytes)?)
    }

    pub(crate) fn session_id(&self) -> &str {
        &self.plan.record.session_id
    }

    pub(crate) fn run_id(&self) -> &str {
        &self.plan.run.run_id
    }
}

/// Returns the plan of the run that just ended, inside `creel plan`: the credentials that it took
/// from the launching process are nowhere else.
///
/// To be called once, before the process opens anything itself.
///
/// # Errors
/// When the process was not started by a keeper.
pub fn ended_plan() -> io::Result<Plan> {
    Order::read(inherited::take(inherited::ORDER)?).map(|order| order.plan)
}

/// Returns the path of the messages that a run's holder, keepers and planners write.
pub(crate) fn log_path(run_dir: &Path) -> PathBuf {
    run_dir.join("log")
}

/// Returns the directory of a run's output log.
pub fn output_dir(run_dir: &Path) -> PathBuf {
    run_dir.join("output")
}

#[cfg(test)]
pub(crate) mod tests {
    use creel_api::plan::{Command, PLAN_VERSION, RecordTarget, RunFacts, Watch};

    use super::*;

    pub(crate) fn order(dir: &Path, program: &str, args: &[&str]) -> Order {
        Order {
            plan: Plan {
                version: PLAN_VERSION,
                record: RecordTarget {
                    orb_root: dir.join("orb"),
                    session_id: "2d1b3f9e-8d11-4c8e-9f67-0a7b6a4f0a01".to_owned(),
                    thread_id: "01939c00-0000-7000-8000-000000000003".to_owned(),
                },
                run: RunFacts {
                    run_id: "01939c00-0000-7000-8000-000000000001".to_owned(),
                    turn_id: "01939c00-0000-7000-8000-000000000002".to_owned(),
                    cause: "launch".to_owned(),
                    attempt: 0,
                    continues_run_id: None,
                    prompt: "p".to_owned(),
                    source: "/operator".to_owned(),
                },
                command: Command {
                    program: program.into(),
                    args: args.iter().map(ToString::to_string).collect(),
                    env: vec![("SECRET".to_owned(), "s3cr3t".to_owned())],
                    cwd: dir.to_owned(),
                    stdin: String::new(),
                    files: Vec::new(),
                },
                watch: Watch {
                    verdict_by_exit: false,
                    native_id: Vec::new(),
                    provider_error: Vec::new(),
                    provider_message: None,
                    return_dir: None,
                    end_grace_ms: 1000,
                    return_grace_ms: 1000,
                    output_bytes: 1 << 20,
                    transcript_bytes: 1 << 20,
                },
                terminal: None,
            },
            run_number: 1,
            exe: "/proc/self/exe".into(),
            installed: None,
            grouping: Grouping::None,
            patience_ms: 0,
            run_dir: dir.join("runs/1"),
            thread_path: dir.join("thread.jsonl"),
        }
    }

    #[test]
    fn an_order_is_read_twice_and_never_changed() {
        let dir = tempfile::tempdir().expect("a directory");
        let order = order(dir.path(), "/bin/sh", &["-c", "true"]);
        let sealed = order.seal().expect("seals");
        for _ in 0..2 {
            let read = Order::read(&sealed).expect("reads");
            assert_eq!(read.plan, order.plan);
            assert_eq!(read.run_number, 1);
        }
        assert!(rustix::io::pwrite(&sealed, b"x", 0).is_err());
    }
}
