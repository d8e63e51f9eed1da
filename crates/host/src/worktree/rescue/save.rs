//! Saving: nothing but objects and one ref are written, and what was written is read back.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use creel_record::Timestamp;

use super::{LeftOut, MAX_NAMED, PREFIX, Rescue, RescueError, RescueMeta, VERSION, message};
use crate::git::{Git, GitError, Patience};
use crate::worktree::changes::{Changes, Submodules};
use crate::worktree::entries::{Bench, Entries, Keep};
use crate::worktree::listing::{Worktree, unread};
use crate::worktree::name::Name;
use crate::worktree::operation;
use crate::worktree::repo::Repo;

/// Who makes the commits: no person did.
const AUTHOR: &str = "creel";

/// What is to be saved.
#[derive(Clone, Debug)]
pub(crate) struct Subject<'s> {
    pub(crate) repo: &'s Repo,
    pub(crate) git: &'s Git,
    pub(crate) worktree: &'s Worktree,
    /// Ignored files that are saved too, below the top.
    pub(crate) ignored: Vec<PathBuf>,
    /// Submodules whose files are there, below the top.
    pub(crate) submodules: Vec<PathBuf>,
    /// True when even a worktree with nothing of its own is saved: its branch is to go.
    pub(crate) always: bool,
    pub(crate) now: Timestamp,
}

/// What was saved, and what the files were then.
#[derive(Debug)]
pub(crate) struct Saved {
    /// The rescue; none when there was nothing to save.
    pub(crate) rescue: Option<Rescue>,
    head: Option<String>,
    changes: Changes,
    entries: Entries,
}

/// Saves a worktree's work and reads it back.
pub(crate) fn save(subject: &Subject<'_>) -> Result<Saved, RescueError> {
    let Subject { git, worktree, .. } = subject;
    let changes = read_changes(subject)?;
    let bench = Bench::new(git, &worktree.admin)?;
    let paths = to_read(&changes, subject);
    let (entries, left_out) = bench.read(&worktree.path, paths, Keep::Stored)?;
    let trees = Trees::write(&bench, &entries)?;
    let head = head(git, worktree)?;
    let history = History::of(subject, head.as_deref())?;
    let before = match &head {
        Some(head) => {
            bench.plain(&["rev-parse", "--verify", &format!("{head}^{{tree}}")]).line()?
        }
        None => bench.plain(&["mktree"]).line()?,
    };
    let has_work = trees.files != before
        || trees.index != before
        || trees.conflict_count > 0
        || history.unpushed_count > 0
        || !history.tips.is_empty()
        || operation::under_way(&worktree.admin).is_some();
    if !has_work && !subject.always {
        return Ok(Saved { rescue: None, head, changes, entries });
    }
    let meta = describe(subject, (&changes, left_out), (&trees, &history, head.clone()));
    let state = trees.state(&bench, &worktree.admin)?;
    let state = commit(&bench, (&state, &history.tips), (&meta, subject.now))?;
    let parents: Vec<String> = head.iter().cloned().chain([state]).collect();
    let commit = commit(&bench, (&trees.files, &parents), (&meta, subject.now))?;
    let reference = reference(&meta.name, subject.now);
    // Only ever a new one.
    let args = ["update-ref", "-m", "creel: rescue", &reference, &commit, ""];
    bench.plain(&args).run()?;
    read_back(subject, (&reference, &commit), &entries)?;
    let id = reference[PREFIX.len()..].to_owned();
    let rescue = Some(Rescue { id, reference, commit, meta: Some(meta) });
    Ok(Saved { rescue, head, changes, entries })
}

/// Tells whether the files, moved to `tree`, are what was saved.
///
/// Submodules are left out: they find their files by where the worktree was.
pub(crate) fn still_as_saved(
    subject: &Subject<'_>,
    saved: &Saved,
    tree: &Path,
) -> Result<bool, RescueError> {
    let Subject { git, worktree, .. } = subject;
    let changes = Changes::read(git, (&worktree.admin, tree), Submodules::LeftOut)?;
    let is_same = changes.without_submodules() == saved.changes.without_submodules();
    if !is_same || head(git, worktree)? != saved.head {
        return Ok(false);
    }
    let mut expected = saved.entries.clone();
    expected.retain(|_, entry| entry.as_ref().is_none_or(|(mode, _)| *mode != "160000"));
    let bench = Bench::new(git, &worktree.admin)?;
    let (entries, _) = bench.read(tree, expected.keys().cloned(), Keep::Told)?;
    Ok(entries == expected)
}

fn read_changes(subject: &Subject<'_>) -> Result<Changes, GitError> {
    if subject.worktree.is_missing {
        return Ok(Changes::default());
    }
    let place = (subject.worktree.admin.as_path(), subject.worktree.path.as_path());
    Changes::read(subject.git, place, Submodules::Asked)
}

fn to_read(changes: &Changes, subject: &Subject<'_>) -> BTreeSet<Vec<u8>> {
    let changed = changes.changed.iter().filter(|changed| changed.is_unstaged);
    let ignored = subject.ignored.iter().map(|path| path.as_os_str().as_bytes().to_vec());
    changed
        .map(|changed| changed.path.clone())
        .chain(changes.unmerged.iter().cloned())
        .chain(changes.untracked.iter().cloned())
        .chain(changes.unwatched.iter().cloned())
        .chain(ignored)
        .collect()
}

fn head(git: &Git, worktree: &Worktree) -> Result<Option<String>, GitError> {
    let args = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
    match git.read(&worktree.admin, args).env("GIT_DIR", &worktree.admin).line() {
        Ok(oid) => Ok(Some(oid)),
        // Before the first commit; a broken HEAD has no commit to save either.
        Err(error) if error.is_refusal() => Ok(None),
        Err(error) => Err(error),
    }
}

/// One side of the conflicts: `mode object` and the path of each file.
type Side = Vec<(String, Vec<u8>)>;

/// The trees of one worktree.
struct Trees {
    files: String,
    index: String,
    sides: BTreeMap<&'static str, String>,
    conflict_count: usize,
}

impl Trees {
    fn write(bench: &Bench<'_>, entries: &Entries) -> Result<Self, RescueError> {
        let has_index = bench.copy_index("index")?;
        let sides = if has_index { Self::sides(bench)? } else { BTreeMap::new() };
        let conflicts: BTreeSet<&[u8]> =
            sides.values().flatten().map(|(_, path)| path.as_slice()).collect();
        bench.put("index", conflicts.iter().map(|path| (bench.absence(), *path)))?;
        let index = bench.tree("index")?;
        let mut trees = BTreeMap::new();
        for (side, found) in &sides {
            bench.put(side, found.iter().map(|(head, path)| (head.clone(), path.as_slice())))?;
            trees.insert(*side, bench.tree(side)?);
        }
        bench.copy("index", "files")?;
        let put = entries.iter().map(|(path, entry)| {
            let head = match entry {
                Some((mode, oid)) => format!("{mode} {oid}"),
                None => bench.absence(),
            };
            (head, path.as_slice())
        });
        bench.put("files", put)?;
        let files = bench.tree("files")?;
        Ok(Self { files, index, sides: trees, conflict_count: conflicts.len() })
    }

    /// Reads the sides of each conflict out of the index.
    fn sides(bench: &Bench<'_>) -> Result<BTreeMap<&'static str, Side>, GitError> {
        let mut sides: BTreeMap<&'static str, Side> = BTreeMap::new();
        bench.on_index("index", &["ls-files", "--unmerged", "-z"]).records(|record| {
            // `mode object stage`, a tab, the path.
            let Some(tab) = record.iter().position(|byte| *byte == b'\t') else { return };
            let head = String::from_utf8_lossy(&record[..tab]).into_owned();
            let Some((entry, stage)) = head.rsplit_once(' ') else { return };
            let side = match stage {
                "1" => "base",
                "2" => "ours",
                _ => "theirs",
            };
            sides.entry(side).or_default().push((entry.to_owned(), record[tab + 1..].to_vec()));
        })?;
        Ok(sides)
    }

    /// Makes the tree of everything that is not files.
    fn state(&self, bench: &Bench<'_>, admin: &Path) -> Result<String, RescueError> {
        let kept = operation::files(admin).map_err(unread)?;
        let full: Vec<PathBuf> = kept.iter().map(|file| admin.join(file)).collect();
        let oids = bench.hash(&full, Keep::Stored)?;
        let entries = oids.iter().zip(&kept);
        let put = entries.map(|(oid, file)| (format!("100644 {oid}"), file.as_os_str().as_bytes()));
        bench.put("git", put)?;
        let mut trees = vec![("index", self.index.clone()), ("git", bench.tree("git")?)];
        trees.extend(self.sides.iter().map(|(side, tree)| (*side, tree.clone())));
        Ok(bench.tree_of(&trees)?)
    }
}

/// Commits that would be lost.
struct History {
    unpushed_count: usize,
    tips: Vec<String>,
}

impl History {
    fn of(subject: &Subject<'_>, head: Option<&str>) -> Result<Self, RescueError> {
        let Subject { git, worktree, .. } = subject;
        let own = worktree.branch.clone().or_else(|| operation::rebased_branch(&worktree.admin));
        let mut elsewhere: Vec<String> = Vec::new();
        elsewhere.extend(own.map(|branch| format!("--exclude={branch}")));
        elsewhere.extend(["--branches", "--remotes"].map(str::to_owned));
        let unpushed_count = match head {
            Some(head) => {
                let call = git.read(subject.repo.common(), ["rev-list", "--count", head, "--not"]);
                let count = call.args(&elsewhere).patience(Patience::Scan).line()?;
                count.parse().map_err(|_| GitError::unexpected("rev-list", count.as_bytes()))?
            }
            None => 0,
        };
        let named = subject.named_objects()?;
        let tips = Self::tips(subject, &named, (head, &elsewhere))?;
        Ok(Self { unpushed_count, tips })
    }

    /// Returns those of the named commits from which all others of them can be reached that
    /// nothing else reaches.
    fn tips(
        subject: &Subject<'_>,
        named: &[String],
        (head, elsewhere): (Option<&str>, &[String]),
    ) -> Result<Vec<String>, GitError> {
        let commits = commits_among(subject, named)?;
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        match walk(subject, &commits, (head, elsewhere)) {
            // One whose history git has already collected spoils the walk for all of them.
            Err(error) if error.is_refusal() => {
                let whole = |commit: &&String| {
                    walk(subject, std::slice::from_ref(*commit), (head, elsewhere)).is_ok()
                };
                let whole: Vec<String> = commits.iter().filter(whole).cloned().collect();
                if whole.is_empty() { Ok(whole) } else { walk(subject, &whole, (head, elsewhere)) }
            }
            walked => walked,
        }
    }
}

impl Subject<'_> {
    /// Returns what the worktree's own files and refs name.
    fn named_objects(&self) -> Result<Vec<String>, GitError> {
        let admin = &self.worktree.admin;
        let files = operation::files(admin).map_err(unread)?;
        let mut named = operation::named_objects(admin, &files);
        let args = ["for-each-ref", "--format=%(objectname)"];
        let own = ["refs/worktree", "refs/bisect", "refs/rewritten"];
        let refs = self.git.read(admin, args).args(own).env("GIT_DIR", admin).line()?;
        named.extend(refs.lines().map(str::to_owned));
        Ok(named)
    }
}

fn commits_among(subject: &Subject<'_>, named: &[String]) -> Result<Vec<String>, GitError> {
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let args = ["cat-file", "--batch-check=%(objecttype) %(objectname)"];
    let call = subject.git.read(subject.repo.common(), args).patience(Patience::Scan);
    let answer = call.stdin(|file| lines(file, named))?.line()?;
    let commits = answer.lines().filter_map(|line| line.strip_prefix("commit "));
    Ok(commits.map(str::to_owned).collect())
}

fn walk(
    subject: &Subject<'_>,
    commits: &[String],
    (head, elsewhere): (Option<&str>, &[String]),
) -> Result<Vec<String>, GitError> {
    let args = ["rev-list", "--parents", "--stdin", "--not"];
    let call = subject.git.read(subject.repo.common(), args).args(elsewhere).args(head);
    let answer = call.patience(Patience::Scan).stdin(|file| lines(file, commits))?.line()?;
    let mut below = BTreeSet::new();
    let mut found = BTreeSet::new();
    for line in answer.lines() {
        let mut oids = line.split(' ');
        found.extend(oids.next());
        below.extend(oids);
    }
    let mut tips: Vec<String> =
        commits.iter().filter(|oid| found.contains(oid.as_str())).cloned().collect();
    tips.retain(|oid| !below.contains(oid.as_str()));
    tips.sort_unstable();
    tips.dedup();
    Ok(tips)
}

fn lines(file: &mut std::fs::File, lines: &[String]) -> std::io::Result<()> {
    use std::io::Write as _;
    file.write_all((lines.join("\n") + "\n").as_bytes())
}

fn describe(
    subject: &Subject<'_>,
    (changes, left_out): (&Changes, Vec<LeftOut>),
    (trees, history, head): (&Trees, &History, Option<String>),
) -> RescueMeta {
    let worktree = subject.worktree;
    let name = Name::like(&worktree.name()).map_or("worktree".to_owned(), |n| n.to_string());
    let mut left_out = left_out;
    left_out.truncate(MAX_NAMED);
    RescueMeta {
        version: VERSION,
        name,
        path: worktree.path.display().to_string(),
        branch: worktree.branch.clone(),
        head,
        at: subject.now.to_string(),
        session_id: worktree.provenance.as_ref().and_then(|p| p.session_id.clone()),
        staged_count: changes.staged_count(),
        unstaged_count: changes.unstaged_count() + changes.unwatched.len(),
        untracked_count: changes.untracked_count(),
        ignored_count: subject.ignored.len(),
        conflict_count: trees.conflict_count,
        unpushed_count: history.unpushed_count,
        left_behind_count: history.tips.len(),
        operation: operation::under_way(&worktree.admin).map(str::to_owned),
        submodules: subject
            .submodules
            .iter()
            .take(MAX_NAMED)
            .map(|path| path.display().to_string())
            .collect(),
        left_out,
    }
}

fn commit(
    bench: &Bench<'_>,
    (tree, parents): (&str, &[String]),
    (meta, now): (&RescueMeta, Timestamp),
) -> Result<String, RescueError> {
    let message = message(meta)?;
    let date = format!("@{} +0000", now.as_millis() / 1000);
    let mut call = bench.plain(&["commit-tree", tree]);
    for parent in parents {
        call = call.args(["-p", parent]);
    }
    for who in ["AUTHOR", "COMMITTER"] {
        call = call
            .env(&format!("GIT_{who}_NAME"), AUTHOR)
            .env(&format!("GIT_{who}_EMAIL"), "creel@localhost")
            .env(&format!("GIT_{who}_DATE"), &date);
    }
    let call = call.args(["-F", "-"]).stdin(|file| {
        use std::io::Write as _;
        file.write_all(message.as_bytes())
    })?;
    Ok(call.line()?)
}

/// Names a rescue: `20261201T014608.123Z`, so that ids sort by their time.
fn reference(name: &str, now: Timestamp) -> String {
    let time: String = now.to_string().chars().filter(|c| *c != '-' && *c != ':').collect();
    format!("{PREFIX}{name}/{time}")
}

/// Reads back what was saved: the ref, every object that is new with it, and each file's entry.
fn read_back(
    subject: &Subject<'_>,
    (reference, commit): (&str, &str),
    entries: &Entries,
) -> Result<(), RescueError> {
    let not_held = |what: &str| RescueError::NotHeld {
        reference: reference.to_owned(),
        what: what.to_owned(),
    };
    if subject.repo.tip(reference)?.as_deref() != Some(commit) {
        return Err(not_held("its commit"));
    }
    let args = ["rev-list", "--objects", "--verify-objects", "--quiet", "--missing=allow-promisor"];
    let head = subject.worktree.head.iter();
    let git = subject.git;
    let call = git.read(subject.repo.common(), args).args([reference, "--not"]).args(head);
    let call = call.args(["--branches", "--remotes"]);
    match call.patience(Patience::Copy).run() {
        Err(error) if error.is_refusal() => return Err(not_held("all of its objects")),
        answer => answer?,
    };
    let mut open: BTreeSet<&[u8]> = BTreeSet::new();
    let mut is_other = None;
    open.extend(entries.iter().filter(|(_, e)| e.is_some()).map(|(path, _)| path.as_slice()));
    let args = ["ls-tree", "-r", "-z", "--full-tree", reference];
    git.read(subject.repo.common(), args).patience(Patience::Scan).records(|record| {
        let Some(tab) = record.iter().position(|byte| *byte == b'\t') else { return };
        let path = &record[tab + 1..];
        let Some(entry) = entries.get(path) else { return };
        let mut words = record[..tab].split(|byte| *byte == b' ');
        let found = (words.next(), words.nth(1));
        let is_same = entry
            .as_ref()
            .is_some_and(|(mode, oid)| found == (Some(mode.as_bytes()), Some(oid.as_bytes())));
        if !is_same || !open.remove(path) {
            is_other = Some(path.to_vec());
        }
    })?;
    match is_other.as_deref().or(open.first().copied()) {
        Some(path) => Err(not_held(&String::from_utf8_lossy(path))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use creel_record::Timestamp;

    use super::reference;

    #[test]
    fn rescues_of_one_worktree_sort_by_time() {
        let earlier = reference("a", Timestamp::from_millis(1_780_000_000_123));
        assert_eq!(earlier, "refs/creel/rescue/a/20260528T202640.123Z");
        assert!(earlier < reference("a", Timestamp::from_millis(1_780_000_000_124)));
    }
}
