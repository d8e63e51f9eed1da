//! `creel request`.

use creel_record::command::question::defer;
use creel_record::dispatch::Settlement;
use creel_record::words::Outcome;
use creel_record::{Cause, Session, SessionId, WorkState};
use creel_spool::Store;

use crate::codes::Code;
use crate::collecting::{Collected, Collector, Turn};
use crate::context::{Context, seconds};
use crate::dispatching::Claim;
use crate::exit::Exit;
use crate::hosting::ensure_host;
use crate::lookup::find;
use crate::output::say;
use crate::report::Report;
use crate::starting::arguments::{StartArguments, prompt};
use crate::starting::composition::NativeContext;
use crate::starting::creation::{Lineage, NewIds};
use crate::starting::follow_up::FollowUp;
use crate::starting::owed::Asker;
use crate::starting::{Credentials, Starter, choice};

/// Characters of an id's beginning from which a first word may name a session.
const MIN_PREFIX_CHARS: usize = 8;

/// Give an agent a prompt, wait for its result and print it
///
/// Within a session the new one is a subagent: its result belongs to the caller, also when the wait
/// is cut short. With a session in the target's place the text is a deferred question to it, and
/// nothing is waited for.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    start: StartArguments,
    /// Print nothing but the result
    #[arg(short, long)]
    quiet: bool,
    /// Give the prompt to this session as a further turn
    #[arg(short = 'c', long = "continue", value_name = "ID")]
    session: Option<String>,
    /// Stop waiting after so many seconds; the session runs on
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Start over in the harness when its own session can't be continued (with -c)
    #[arg(long, requires = "session")]
    fresh: bool,
    /// Start although credentials are missing that the launch had (with -c)
    #[arg(long, requires = "session")]
    without_credentials: bool,
}

/// Runs the verb.
///
/// # Errors
/// When nothing could be started, the turn ended without a result, or the time passed first.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let store = context.store_for_new()?;
    context.may_write(&store)?;
    let mut starter = Starter::new(context)?;
    ensure_host(context);
    if args.without_credentials {
        starter.credentials = Credentials::Optional;
    }
    let asker = Asker { context, store: &store, starter: &starter };
    if let Some(typed) = &args.session {
        let begun = follow_up(args, &asker, find(&store, typed)?)?;
        let waited = begun.wait(args)?;
        return finish(context, &store, waited);
    }
    if let Some((id, words)) = questioned(&asker, &args.start.words)? {
        let text = prompt(words, args.start.file.as_ref(), Cause::Request)?;
        let request_id = context.request_id();
        context.append(&store, id, |session| defer(session, request_id, &text).map(Into::into))?;
        context.output.line(&request_id.to_string())?;
        return Ok(Exit::Done);
    }
    let waited = begin(args, &asker)?.wait(args)?;
    finish(context, &store, waited)
}

/// A turn that was begun.
struct Begun<'a> {
    turn: Turn,
    claim: Option<Claim>,
    collector: Collector<'a>,
}

/// A turn that is not waited for any more.
struct Waited {
    turn: Turn,
    claim: Option<Claim>,
    collected: Collected,
}

impl Begun<'_> {
    fn wait(self, args: &Args) -> Result<Waited, Report> {
        let Self { turn, claim, collector } = self;
        let mut progress = Progress { is_quiet: args.quiet, last: String::new() };
        let within = seconds(args.timeout);
        let collected = collector.collect(within, |session| progress.show(session))?;
        Ok(Waited { turn, claim, collected })
    }
}

/// Finds the session that a first word names in the target's place. A word that could as well
/// begin a prompt is one.
fn questioned<'a>(
    asker: &Asker<'_>,
    words: &'a [String],
) -> Result<Option<(SessionId, &'a [String])>, Report> {
    let Some((first, rest)) = words.split_first() else { return Ok(None) };
    let is_id = first.parse::<SessionId>().is_ok();
    let is_prefix = first.len() >= MIN_PREFIX_CHARS
        && first.chars().all(|c| c == '-' || matches!(c, '0'..='9' | 'a'..='f'));
    if !is_prefix || choice::split(&asker.starter.catalog, words).0.is_some() {
        return Ok(None);
    }
    match find(asker.store, first) {
        Ok(id) => Ok(Some((id, rest))),
        Err(report) if is_id || report.code() == Code::AmbiguousId => Err(report),
        Err(_) => Ok(None),
    }
}

/// Makes a session for the prompt, the caller's child when there is a caller, and starts it.
fn begin<'a>(args: &Args, asker: &'a Asker<'a>) -> Result<Begun<'a>, Report> {
    let Asker { context, store, starter } = *asker;
    let continues = args.start.continued(store)?;
    let mut order = args.start.order(Cause::Request, &starter.catalog, continues)?;
    let chosen = choice::choose(&starter.catalog, order.named_target.as_deref(), &starter.path)?;
    let target = chosen.target.name();
    order.named_target = Some(target.clone());
    let ids = NewIds::new(context, "", None);
    let turn = Turn { session: ids.session, anchor: ids.first_run.run_id };
    let parent = caller(asker)?;
    let claim = parent.as_ref().map(|parent| claim_of(parent.id, turn));
    if let Some(claim) = &claim {
        claim.take(context, store, &target)?;
    }
    let lineage = match &parent {
        Some(parent) => Some(Lineage { parent, run_id: context.speaking_run(parent.id)? }),
        None => None,
    };
    // From before anything runs, so that no change is missed and Ctrl-C always says what runs on.
    let collector = Collector::new(asker, turn)?;
    let started = asker.create(&order, &ids, lineage).and_then(|session| {
        // The id comes first, so that nothing is lost with this process.
        say(&format!("Session: {}", session.id));
        if let Some(claim) = &claim {
            claim.materialize(context, store)?;
        }
        asker.start_first(session)
    });
    if let (Err(_), Some(claim)) = (&started, &claim) {
        give_back(asker, claim)?;
    }
    started.map(|()| Begun { turn, claim, collector })
}

/// Gives the prompt to a session that is there.
fn follow_up<'a>(args: &Args, asker: &'a Asker<'a>, id: SessionId) -> Result<Begun<'a>, Report> {
    let Asker { context, store, .. } = *asker;
    let text = prompt(&args.start.words, args.start.file.as_ref(), Cause::Request)?;
    let turn = Turn { session: id, anchor: context.run_id() };
    let claim = caller(asker)?.filter(|parent| parent.id != id).map(|p| claim_of(p.id, turn));
    if let Some(claim) = &claim {
        let target = store.read(id)?.snapshot.session.target();
        claim.take(context, store, &target)?;
    }
    let collector = Collector::new(asker, turn)?;
    say(&format!("Session: {id}"));
    let wish = FollowUp {
        run_id: turn.anchor,
        text,
        cause: Cause::Request,
        native: if args.fresh { NativeContext::Fresh } else { NativeContext::Continue },
        undiscards: false,
    };
    if let Err(report) = asker.follow_up(id, wish) {
        if let Some(claim) = &claim {
            give_back(asker, claim)?;
        }
        return Err(report);
    }
    if let Some(claim) = &claim {
        claim.materialize(context, store)?;
    }
    Ok(Begun { turn, claim, collector })
}

/// Gives a slot back whose run was refused.
fn give_back(asker: &Asker<'_>, claim: &Claim) -> Result<(), Report> {
    let nothing = Settlement { outcome: Outcome::Abandoned, run_number: None, result: None };
    claim.settle((asker.context, asker.store), &nothing, true)
}

fn claim_of(parent: SessionId, turn: Turn) -> Claim {
    Claim { parent, child: turn.session, run: turn.anchor }
}

/// Returns the session that calls, whose child a new session is.
fn caller(asker: &Asker<'_>) -> Result<Option<Session>, Report> {
    let Some(id) = asker.context.environment.caller()? else { return Ok(None) };
    Ok(Some(asker.store.read(id)?.snapshot.session))
}

/// Prints what came of the turn, and settles the caller's account.
fn finish(context: &mut Context, store: &Store, waited: Waited) -> Result<Exit, Report> {
    let Waited { turn, claim, collected } = waited;
    let id = turn.session;
    let settlement = match collected {
        Collected::Settled(settlement) => settlement,
        Collected::TimedOut => {
            let message = format!("{id} pending: the session runs on");
            return Err(Report::new(Code::StillPending, message).next(format!("creel wait {id}")));
        }
        Collected::Interrupted => {
            say(&format!("creel: interrupted; session {id} runs on\nNext: creel wait {id}"));
            return Ok(Exit::Interrupted);
        }
    };
    print(context, store, turn, &settlement)?;
    if let Some(claim) = &claim {
        // After the print, so that a caller killed in between is told again by a wake.
        claim.settle((context, store), &settlement, true)?;
    }
    match settlement.outcome {
        Outcome::Result => Ok(Exit::Done),
        outcome => Err(without_result(store, turn, outcome)),
    }
}

fn print(
    context: &mut Context,
    store: &Store,
    turn: Turn,
    settlement: &Settlement,
) -> Result<(), Report> {
    if let Some(result) = &settlement.result {
        let payload = store.text(turn.session, result.payload)?;
        context.output.text(&payload)?;
        context.output.flush()?;
    }
    Ok(())
}

fn without_result(store: &Store, turn: Turn, outcome: Outcome) -> Report {
    let id = turn.session;
    let why = store.read(id).ok().and_then(|published| {
        let session = published.snapshot.session;
        let run = session.current_run()?;
        let reason = run.end_reason?;
        let detail = run.detail.as_ref().map_or(String::new(), |detail| format!(": {detail}"));
        Some(format!(" (run {} ended {reason}{detail})", run.number))
    });
    let message = format!("session {id} gave no result: {outcome}{}", why.unwrap_or_default());
    let next = match outcome {
        Outcome::Abandoned | Outcome::Adopted => format!("creel inspect {id}"),
        _ => format!("creel request -c {id} PROMPT"),
    };
    Report::new(Code::NoOutcome, message).next(next)
}

/// What a person sees while waiting: a line for each thing that changed.
#[derive(Debug)]
struct Progress {
    is_quiet: bool,
    last: String,
}

impl Progress {
    fn show(&mut self, session: &Session) {
        if self.is_quiet {
            return;
        }
        let phase = session.interface.get("phase").map_or(String::new(), |p| format!(", {p}"));
        let title = session.title.as_ref().map_or(String::new(), |t| format!(", {t}"));
        let state = session.work_state();
        let next = match state {
            WorkState::NeedsInput => format!("; answer it: creel respond {} TEXT", session.id),
            _ => String::new(),
        };
        let line = format!("{state}: run {}{phase}{title}{next}", session.run_count);
        if line != self.last {
            say(&line);
            self.last = line;
        }
    }
}
