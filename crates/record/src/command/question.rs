//! Asking and answering.

use crate::command::returning::named_run;
use crate::command::{Verdict, within};
use crate::event::fact::{AnswerTaken, RequestAnswered, RequestAsked, RequestCancelled};
use crate::ids::{RequestId, RunId};
use crate::limits::{MAX_OPEN_QUESTIONS, MAX_PAYLOAD_BYTES};
use crate::question::Question;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::words::QuestionKind;

/// Asks a blocking question for a live run.
///
/// # Errors
/// When the text is empty or over its bound, the run is not live or has returned, or too many
/// questions are open.
pub fn ask(
    session: &Session,
    run_id: Option<RunId>,
    request_id: RequestId,
    question: &str,
) -> Result<RequestAsked, Refusal> {
    check_text(session, question)?;
    let run = named_run(session, run_id)?;
    if !run.is_live() || run.is_returned() {
        let state = session.work_state();
        return Err(Refusal::WrongState { session: session.id, state, verb: "ask" });
    }
    Ok(RequestAsked {
        request_id,
        run_id: Some(run.id),
        turn_id: Some(run.turn_id),
        kind: QuestionKind::Blocking,
        question: question.to_owned(),
    })
}

/// Posts a deferred question; the lifecycle stays as it is.
///
/// # Errors
/// When the text is empty or over its bound, or too many questions are open.
pub fn defer(
    session: &Session,
    request_id: RequestId,
    question: &str,
) -> Result<RequestAsked, Refusal> {
    check_text(session, question)?;
    Ok(RequestAsked {
        request_id,
        run_id: session.live_run().map(|r| r.id),
        turn_id: session.live_run().map(|r| r.turn_id),
        kind: QuestionKind::Deferred,
        question: question.to_owned(),
    })
}

fn check_text(session: &Session, question: &str) -> Result<(), Refusal> {
    if question.trim().is_empty() {
        return Err(Refusal::Empty { what: "question" });
    }
    within("question", question, MAX_PAYLOAD_BYTES)?;
    let count = session.questions.len();
    if count >= MAX_OPEN_QUESTIONS {
        return Err(Refusal::TooMany { what: "open questions", count, max: MAX_OPEN_QUESTIONS });
    }
    Ok(())
}

/// Finds the question to answer: the named one, the blocking one, or the only one.
///
/// # Errors
/// When there is none, several could be meant, or the named one has its answer.
pub fn open_question(session: &Session, named: Option<RequestId>) -> Result<&Question, Refusal> {
    if let Some(id) = named {
        let question = session
            .questions
            .iter()
            .find(|q| q.id == id)
            .ok_or(Refusal::NoQuestion { session: session.id })?;
        return if question.is_open() {
            Ok(question)
        } else {
            Err(Refusal::AlreadyAnswered { request: id })
        };
    }
    if let Some(blocking) = session.blocking_question() {
        return Ok(blocking);
    }
    let mut open = session.questions.iter().filter(|q| q.is_open());
    match (open.next(), open.count()) {
        (None, _) => Err(Refusal::NoQuestion { session: session.id }),
        (Some(only), 0) => Ok(only),
        (Some(_), more) => Err(Refusal::WhichQuestion { session: session.id, count: more + 1 }),
    }
}

/// Answers a question.
///
/// # Errors
/// As [`open_question`], and when the answer is over its bound.
pub fn answer(
    session: &Session,
    named: Option<RequestId>,
    response: &str,
) -> Result<RequestAnswered, Refusal> {
    within("answer", response, MAX_PAYLOAD_BYTES)?;
    let question = open_question(session, named)?;
    Ok(RequestAnswered { request_id: question.id, response: response.to_owned() })
}

/// Marks an answer as taken by its waiter, so that no wake carries it again.
pub fn take(session: &Session, request_id: RequestId) -> Verdict<()> {
    if session.questions.iter().any(|q| q.id == request_id && !q.is_open()) {
        Verdict::Append(AnswerTaken { request_id }.into())
    } else {
        Verdict::Already(())
    }
}

/// Takes a question back.
pub fn cancel(session: &Session, request_id: RequestId) -> Verdict<()> {
    if session.questions.iter().any(|q| q.id == request_id) {
        Verdict::Append(RequestCancelled { request_id }.into())
    } else {
        Verdict::Already(())
    }
}
