use crate::decide::{Owed, cause, decide};
use crate::session::Session;
use crate::story::Do::{
    Answer, Ask, Await, Claim, Defer, Exit, Finish, Intend, Interrupt, Message, Owed as Debt,
    Settle, Stop, WakeAt,
};
use crate::story::{Do, Story};
use crate::time::Timestamp;
use crate::words::{Authority, Cause, EndReason, Mode, Outcome};

fn check(steps: &[Do], expected: (Owed, Option<Cause>)) {
    let story = Story::after(Mode::Headless, steps);
    let owed = story.owed();
    assert_eq!((owed, cause(owed, &story.session)), expected, "after {steps:?}");
}

fn woken(through_sequence: Option<u64>) -> (Owed, Option<Cause>) {
    (Owed::Wake { through_sequence }, Some(Cause::Wake))
}

#[test]
fn every_debt_has_its_cause() {
    check(&[], (Owed::StartIntended, Some(Cause::Launch)));
    check(&[Debt], (Owed::LiveRun, None));
    check(&[Debt, Exit(0)], (Owed::Reprompt { attempt: 1 }, Some(Cause::Reprompt)));
    check(&[Debt, Interrupt("x"), Exit(0)], (Owed::StartIntended, Some(Cause::Interrupt)));
    check(&[Debt, Finish("r"), Exit(0)], (Owed::Nothing, None));
    let dormant = [Debt, Await("r"), Exit(0), Message, Intend];
    check(&dormant, (Owed::StartIntended, Some(Cause::Wake)));
}

#[test]
fn a_wake_covers_everything_up_to_the_newest_cause() {
    check(&[Debt, Message, Await("r"), Exit(0)], woken(Some(3)));
    check(&[Debt, Await("r"), Exit(0), Message, Message], woken(Some(6)));
    check(&[Debt, Defer, Await("r"), Exit(0), Answer(0)], woken(None));
    check(&[Debt, Await("r"), WakeAt(0), Exit(0)], woken(None));
    let child = [Debt, Claim(2), Await("r"), Exit(0), Settle(2, Outcome::Abandoned)];
    check(&child, woken(Some(6)));
}

#[test]
fn only_the_answer_goes_on_after_a_run_that_died_asking() {
    check(&[Debt, Ask, Exit(0)], (Owed::Nothing, None));
    check(&[Debt, Ask, Exit(0), Answer(0)], woken(None));
    check(&[Debt, Ask, Exit(0), Message, Answer(0)], woken(Some(5)));
    check(&[Debt, Ask, Answer(0), Stop(EndReason::Closed), Exit(0)], (Owed::Nothing, None));
}

#[test]
fn time_alone_changes_only_a_scheduled_wake() {
    let stamps = [0, i64::MAX].map(Timestamp::from_millis);
    for steps in [&[][..], &[Debt], &[Debt, Exit(0)], &[Debt, Finish("r"), Exit(0)]] {
        let session = Story::after(Mode::Headless, steps).session;
        assert_eq!(decide(&session, stamps[0]), decide(&session, stamps[1]), "{steps:?}");
    }
    let session =
        Story::after(Mode::Headless, &[Debt, Await("r"), WakeAt(60_000), Exit(0)]).session;
    assert_eq!(decide(&session, stamps[0]), Owed::Nothing);
    assert_eq!(decide(&session, stamps[1]), Owed::Wake { through_sequence: None });
}

#[test]
fn a_delivery_and_a_tombstone_owe_nothing() {
    let story = Story::after(Mode::Headless, &[Debt, Exit(0)]);
    let delivered = Session { authority: Authority::Delivery, ..story.session.clone() };
    assert_eq!(decide(&delivered, story.now()), Owed::Nothing);
    let follow_up = [Debt, Interrupt("x"), Stop(EndReason::Discarded), Exit(0)];
    check(&follow_up, (Owed::Nothing, None));
    let intended = Story::after(Mode::Headless, &[Debt, Interrupt("x"), Exit(0)]);
    let discarded = Session { discarded: true, ..intended.session };
    assert_eq!(decide(&discarded, story.now()), Owed::Nothing);
    // Its process may still be there, and has to be seen out.
    check(&[Debt, Stop(EndReason::Discarded)], (Owed::LiveRun, None));
}

#[test]
fn the_end_of_a_delivered_run_is_never_failed_by_the_record() {
    let twice = [Debt, Exit(0), Debt, Exit(0), Debt];
    let story = Story::after(Mode::Headless, &twice);
    let run = story.session.current_run().unwrap().id;
    let exit = || crate::command::end::Exit { code: Some(0), ..Default::default() };
    let reason =
        |session: &Session| crate::command::end::record_end(session, run, exit()).unwrap().reason;
    assert_eq!(reason(&story.session), EndReason::FailedUnreturned);
    let delivered = Session { authority: Authority::Delivery, ..story.session.clone() };
    assert_eq!(reason(&delivered), EndReason::ExitZero);
    let interactive = Session { mode: Mode::Interactive, ..story.session };
    assert_eq!(reason(&interactive), EndReason::ExitZero);
}
