//! Giving work back: a new worktree at the old commit, with the files and the index as they were.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use super::contents::{Content, contents};
use super::{LeftOut, Rescue, RescueError, RescueMeta};
use crate::git::{Git, GitError, Patience, write_records};
use crate::worktree::changes::as_path;
use crate::worktree::create::{CreateError, Created, Order, create};
use crate::worktree::listing::{Worktree, list};
use crate::worktree::name::Name;
use crate::worktree::repo::Repo;
use crate::worktree::surroundings::{FileError, is_absent, is_missing};

/// Bytes of a link's target at most, as Linux has it.
const MAX_LINK_BYTES: usize = 4096;

/// Names that are tried when the wanted one is taken.
const MAX_NAMES: u32 = 1000;

/// What was given back, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The new worktree.
    pub worktree: Worktree,
    /// Files that were written or removed in it.
    pub file_count: usize,
    /// What was not given back, and why.
    pub left_out: Vec<LeftOut>,
}

/// Makes a worktree at the commit that a rescue began from, and puts files and index into it as
/// they were. The rescue stays. The order's name is used when somebody gave it, else one like the
/// old one that is free.
///
/// # Errors
/// When the worktree can't be made, or a file not be written; the rescue is as it was.
pub fn restore(
    repo: &Repo,
    rescue: &Rescue,
    (mut order, is_named): (Order, bool),
) -> Result<Restored, RescueError> {
    let foreign = || RescueError::Foreign { id: rescue.id.clone() };
    let meta = rescue.meta.as_ref().ok_or_else(foreign)?;
    let found = contents(repo, rescue)?;
    for content in &found {
        check_path(rescue, &content.path)?;
    }
    let worktrees = list(repo)?;
    if !is_named {
        order.name = free_name(&worktrees, &repo.home(&order.data), &order.name);
    }
    (order.branch, order.from) = branch_for(repo, (rescue, meta), (&order.name, &worktrees))?;
    let Created { worktree, already } = create(repo, &order).map_err(Box::new)?;
    if already {
        let (name, is) = (order.name.to_string(), worktree.path.display().to_string());
        return Err(Box::new(CreateError::Exists { name, what: "content, at", is }).into());
    }
    let (_lock, git) = repo.lock()?;
    let mut left_out = meta.left_out.clone();
    let mut file_count = 0;
    // A rescue from before the first commit is checked out whole, as a commit.
    if meta.head.is_some() {
        file_count = write_files(&git, (&worktree, &found), &mut left_out)?;
        write_index(&git, &worktree, rescue)?;
    }
    Ok(Restored { worktree, file_count, left_out })
}

/// Chooses the branch: the old one where it still is at the old commit, else a new one there.
fn branch_for(
    repo: &Repo,
    (rescue, meta): (&Rescue, &RescueMeta),
    (name, worktrees): (&Name, &[Worktree]),
) -> Result<(Option<String>, Option<String>), RescueError> {
    let head = meta.head.clone().unwrap_or_else(|| rescue.commit.clone());
    if let Some(branch) = &meta.branch {
        let tip = repo.tip(&format!("refs/heads/{branch}"))?;
        let is_used = worktrees.iter().any(|worktree| worktree.branch.as_ref() == Some(branch));
        match tip {
            None if !is_used => return Ok((Some(branch.clone()), Some(head))),
            Some(tip) if tip == head && !is_used => return Ok((Some(branch.clone()), None)),
            _ => {}
        }
    }
    for number in 1..MAX_NAMES {
        let branch = numbered(name.as_str(), number);
        if repo.tip(&format!("refs/heads/{branch}"))?.is_none() {
            return Ok((Some(branch), Some(head)));
        }
    }
    Ok((Some(name.to_string()), Some(head)))
}

fn free_name(worktrees: &[Worktree], home: &Path, name: &Name) -> Name {
    let is_free = |name: &Name| {
        is_absent(&home.join(name.as_str()))
            && worktrees.iter().all(|worktree| worktree.name() != name.as_str())
    };
    let restored = format!("{name}-restored");
    let tried = std::iter::once(Some(name.clone()))
        .chain((1..MAX_NAMES).map(|number| Name::like(&numbered(&restored, number))));
    tried.flatten().find(is_free).unwrap_or_else(|| name.clone())
}

fn numbered(name: &str, number: u32) -> String {
    if number == 1 { name.to_owned() } else { format!("{name}-{number}") }
}

/// Refuses what git itself would never check out: a ref may come from anywhere.
fn check_path(rescue: &Rescue, path: &[u8]) -> Result<(), RescueError> {
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        _ => false,
    };
    if !path.is_empty() && as_path(path).components().all(is_plain) {
        return Ok(());
    }
    let path = String::from_utf8_lossy(path).into_owned();
    Err(RescueError::BadPath { id: rescue.id.clone(), path })
}

fn write_files(
    git: &Git,
    (worktree, found): (&Worktree, &[Content]),
    left_out: &mut Vec<LeftOut>,
) -> Result<usize, RescueError> {
    let top = &worktree.path;
    let (gone, there): (Vec<&Content>, Vec<&Content>) =
        found.iter().partition(|content| content.status == 'D');
    for content in &gone {
        clear(&top.join(as_path(&content.path)))?;
    }
    let (modules, there): (Vec<&Content>, Vec<&Content>) =
        there.into_iter().partition(|content| content.mode == "160000");
    for module in modules {
        left_out.push(LeftOut::new(&module.path, "it is a submodule: git submodule update"));
    }
    let mut writer = Writer { top, open: there.iter(), state: State::Head(Vec::new()) };
    let call = git.read(&worktree.admin, ["cat-file", "--batch"]).patience(Patience::Copy);
    let call = call.stdin(|file| {
        let mut out = io::BufWriter::new(file);
        for content in &there {
            writeln!(out, "{}", content.object)?;
        }
        out.flush()
    })?;
    call.stream(|bytes| writer.take(bytes))?;
    match (writer.open.next(), writer.state) {
        (None, State::Head(rest)) if rest.is_empty() => Ok(gone.len() + there.len()),
        _ => Err(GitError::unexpected("cat-file", b"less than was asked for").into()),
    }
}

/// Removes a file or link, and the directories above it that are empty then.
fn clear(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if !is_missing(&error) => {
            return Err(FileError { what: "remove", path: path.to_owned(), source: error });
        }
        _ => {}
    }
    let mut above = path.parent();
    while let Some(dir) = above.filter(|dir| !dir.join(".git").exists()) {
        if fs::remove_dir(dir).is_err() {
            break;
        }
        above = dir.parent();
    }
    Ok(())
}

/// Reads what `cat-file --batch` prints, in chunks of any size, into files.
struct Writer<'f, 'c> {
    top: &'f Path,
    open: std::slice::Iter<'f, &'c Content>,
    state: State,
}

enum State {
    /// Within `OBJECT TYPE SIZE` and a newline.
    Head(Vec<u8>),
    /// Within a content; so many bytes are to come.
    Body(Target, u64),
    /// Before the newline behind a content.
    End,
}

enum Target {
    File(File),
    Link(PathBuf, Vec<u8>),
}

impl Writer<'_, '_> {
    fn take(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match &mut self.state {
                State::Head(head) => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    head.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
                    let Some(end) = end else { return Ok(()) };
                    bytes = &bytes[end + 1..];
                    self.state = self.begin()?;
                }
                State::Body(target, left) => {
                    let count = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    match target {
                        Target::File(file) => file.write_all(&bytes[..count])?,
                        Target::Link(_, to) if to.len() + count > MAX_LINK_BYTES => {
                            return Err(io::ErrorKind::InvalidFilename.into());
                        }
                        Target::Link(_, to) => to.extend_from_slice(&bytes[..count]),
                    }
                    bytes = &bytes[count..];
                    *left -= count as u64;
                }
                State::End => {
                    bytes = &bytes[1..];
                    self.state = State::Head(Vec::new());
                }
            }
            self.finish()?;
        }
        Ok(())
    }

    /// Opens the next file, whose head was read.
    fn begin(&mut self) -> io::Result<State> {
        let State::Head(head) = &self.state else { return Err(io::ErrorKind::InvalidData.into()) };
        let head = String::from_utf8_lossy(head);
        let words: Vec<&str> = head.split(' ').collect();
        let ([object, "blob", size], Some(content)) = (words.as_slice(), self.open.next()) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, head.into_owned()));
        };
        let size = size.parse().map_err(|_| io::ErrorKind::InvalidData)?;
        if *object != content.object {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let path = self.top.join(as_path(&content.path));
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        match fs::remove_file(&path) {
            Err(error) if !is_missing(&error) => return Err(error),
            _ => {}
        }
        if content.mode == "120000" {
            return Ok(State::Body(Target::Link(path, Vec::new()), size));
        }
        let mode = if content.mode == "100755" { 0o777 } else { 0o666 };
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        Ok(State::Body(Target::File(file), size))
    }

    /// Closes a content that is whole.
    fn finish(&mut self) -> io::Result<()> {
        if let State::Body(target, 0) = &self.state {
            if let Target::Link(path, to) = target {
                symlink(OsStr::from_bytes(to), path)?;
            }
            self.state = State::End;
        }
        Ok(())
    }
}

/// Puts the index as it was: what was staged, and the sides of conflicts.
fn write_index(git: &Git, worktree: &Worktree, rescue: &Rescue) -> Result<(), RescueError> {
    let call = |args: &[&str]| {
        let call = git.write(&worktree.path, args).env("GIT_DIR", &worktree.admin);
        call.env("GIT_WORK_TREE", &worktree.path).patience(Patience::Scan)
    };
    let state = format!("{}^2", rescue.commit);
    call(&["read-tree", &format!("{state}:index")]).run()?;
    let mut stages: Vec<Vec<u8>> = Vec::new();
    for (stage, side) in [(1, "base"), (2, "ours"), (3, "theirs")] {
        let tree = format!("{state}:{side}");
        match call(&["rev-parse", "--verify", "--quiet", &tree]).run() {
            Err(error) if error.is_refusal() => continue,
            found => found?,
        };
        call(&["ls-tree", "-r", "-z", "--full-tree", &tree]).records(|record| {
            let Some(tab) = record.iter().position(|byte| *byte == b'\t') else { return };
            let head = String::from_utf8_lossy(&record[..tab]);
            let words: Vec<&str> = head.split(' ').collect();
            if let [mode, _, object] = words.as_slice() {
                let head = format!("{mode} {object} {stage}");
                stages.push([head.as_bytes(), &record[tab..]].concat());
            }
        })?;
    }
    if !stages.is_empty() {
        let put = call(&["update-index", "-z", "--index-info"]);
        put.stdin(|file| write_records(file, stages.iter().map(Vec::as_slice)))?.run()?;
    }
    // It tells by its exit code that files differ, which they do.
    match call(&["update-index", "-q", "--refresh"]).run() {
        Err(error) if !error.is_refusal() => Err(error.into()),
        _ => Ok(()),
    }
}
