use proptest::prelude::*;
use serde_json::value::RawValue;

use crate::event::fact::{AnswerTaken, Fact, LogHealed, RequestCancelled, RoomNoticed};
use crate::event::{Draft, Event, Unknown};
use crate::ids::{EventId, RequestId, SessionId};
use crate::limits::MAX_LINE_BYTES;
use crate::line::{
    DecodeError, NewPlace, Place, chain_seed, check as check_line, decode, encode, encode_draft,
    parse, rechain, split,
};
use crate::source::Source;
use crate::story::{Do, Story, session_id};
use crate::time::Timestamp;
use crate::words::{EndReason, Mode, Outcome};

const PLACE_SEQUENCE: u64 = 7;

fn place() -> Place {
    Place { subject: session_id(1), sequence: PLACE_SEQUENCE, previous: 0x0102_0304 }
}

/// Decodes at [`place`] and tells how it went.
fn check(line: &[u8], expected: &str) {
    let told = match decode(line, place()) {
        Ok((event, chain)) => format!("{} {chain:08x}", event.fact.type_name()),
        Err(error) => error.to_string(),
    };
    assert_eq!(told, expected);
}

fn event(fact: Fact) -> Event {
    Event {
        id: EventId::from_uuid(uuid::Uuid::from_u128(3)),
        source: Source::Session(session_id(1)),
        time: Timestamp::from_millis(1_767_225_600_000),
        subject: session_id(1),
        sequence: PLACE_SEQUENCE,
        fact,
    }
}

fn request_id() -> RequestId {
    RequestId::from_uuid(uuid::Uuid::from_u128(4))
}

/// The bytes of an event at [`place`], newline left off.
fn line_of(fact: Fact) -> Vec<u8> {
    let mut bytes = encode(&event(fact), place().previous).unwrap().bytes;
    bytes.pop();
    bytes
}

/// Closes a text with a fitting checksum.
fn sealed(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    let crc = crc32c::crc32c_append(place().previous, &bytes);
    bytes.extend_from_slice(format!(",\"crc\":\"{crc:08x}\"}}").as_bytes());
    bytes
}

/// A log that holds every kind of event.
fn every_kind() -> Story {
    let mut story = Story::new(Mode::Headless);
    story.takes(&[
        Do::Register("Title", "What it does"),
        Do::Set("phase", "one"),
        Do::Slice("core:rooms", "{\"lobby\":4}"),
        Do::Note,
        Do::Artifact("/w/out.txt"),
        Do::Account("work"),
        Do::Profile("large"),
        Do::Owed,
        Do::Spawn,
        Do::Ask,
        Do::Answer(0),
        Do::Take(0),
        Do::Defer,
        Do::Cancel(0),
        Do::Claim(2),
        Do::Materialize(2),
        Do::Settle(2, Outcome::Result),
        Do::Await("so far"),
        Do::Turn,
        Do::Await("further"),
        Do::WakeAt(3_600_000),
        Do::Message,
        Do::Room,
        Do::Exit(0),
        Do::Owed,
        Do::Interrupt("rather this"),
        Do::Signal(2),
        Do::Stop(EndReason::Parked),
        Do::Stop(EndReason::Closed),
        Do::Stop(EndReason::Killed),
        Do::Stop(EndReason::Ended),
        Do::Stop(EndReason::Discarded),
        Do::Restore,
        Do::Resume,
        Do::EndWith("last words"),
        Do::Observe(EndReason::Lost),
        Do::Switch(Mode::Interactive),
    ]);
    story.push(LogHealed { offset_bytes: 10, len_bytes: 20, kept_as: "set-aside".to_owned() });
    story
}

#[test]
fn every_kind_of_event_is_stored_like_this() {
    let story = every_kind();
    let mut missing: Vec<_> = Fact::TYPES.to_vec();
    missing.retain(|name| story.log.iter().all(|(event, _)| event.fact.type_name() != *name));
    assert_eq!(missing, Vec::<&str>::new(), "kinds without a stored line");
    insta::assert_snapshot!(String::from_utf8(story.lines.concat()).unwrap());
}

#[test]
fn a_line_is_bound_to_its_session_its_place_and_the_line_before() {
    let line = line_of(AnswerTaken { request_id: request_id() }.into());
    let chain = check_line(&line, place().previous).unwrap();
    check(&line, &format!("orbh.request.taken {chain:08x}"));
    let moved = |place: Place| decode(&line, place).unwrap_err().to_string();
    let other = session_id(2);
    assert_eq!(
        moved(Place { subject: other, ..place() }),
        format!("subject is {}, expected {other}", session_id(1))
    );
    assert_eq!(moved(Place { sequence: 8, ..place() }), "sequence is 7, expected 8");
    assert!(moved(Place { previous: 5, ..place() }).starts_with("checksum "));
    assert_ne!(chain_seed(session_id(1)), chain_seed(other));
}

#[test]
fn what_is_no_line_is_refused() {
    check(b"", "line does not end in a checksum");
    check(b"{}", "line does not end in a checksum");
    check(b"{\"a\":1,\"crc\":\"0000000G\"}", "line does not end in a checksum");
    check(b"{\"a\":1,\"crc\":\"0000000A\"}", "line does not end in a checksum");
    check(&sealed("{\"a\":1"), "line is not an event");
    check(&sealed("not json"), "line is not an event");
    let line = String::from_utf8(line_of(AnswerTaken { request_id: request_id() }.into())).unwrap();
    let body = line.rsplit_once(",\"crc\"").unwrap().0;
    check(
        &sealed(&body.replace("0000000000000007", "+000000000000007")),
        "sequence is +000000000000007, expected 16 digits",
    );
    check(&sealed(&body.replace("0000000000000007", "7")), "sequence is 7, expected 16 digits");
    check(&sealed(&body.replace("\"1.0\"", "\"2.0\"")), "specversion is 2.0, expected 1.0");
    check(&sealed(&body.replace("requestId", "other")), "line is not an event");
    let long = vec![b'x'; MAX_LINE_BYTES + 1];
    assert!(matches!(check_line(&long, 0), Err(DecodeError::TooLong { .. })));
    let at_bound = vec![b'x'; MAX_LINE_BYTES];
    assert!(matches!(check_line(&at_bound, 0), Err(DecodeError::NoChecksum)));
}

#[test]
fn the_largest_payload_of_the_costliest_bytes_fits_a_line() {
    let text = "\u{1}".repeat(crate::limits::MAX_PAYLOAD_BYTES);
    let fact = crate::event::fact::NoteAdded { text }.into();
    let line = encode(&event(fact), 0).unwrap();
    assert!(line.bytes.len() <= MAX_LINE_BYTES);
}

#[test]
fn every_flipped_bit_is_detected() {
    let story = every_kind();
    let mut previous = chain_seed(session_id(1));
    for (line, (event, _)) in story.lines.iter().zip(&story.log) {
        let line = &line[..line.len() - 1];
        for bit in 0..line.len() * 8 {
            let mut flipped = line.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(check_line(&flipped, previous).is_err(), "bit {bit} of {}", event.sequence);
        }
        previous = check_line(line, previous).unwrap();
    }
}

#[test]
fn kinds_of_a_newer_build_are_kept_as_they_are() {
    let data = RawValue::from_string("{ \"b\":1,  \"a\":[1.0,2e3] }".to_owned()).unwrap();
    let fact = Fact::Unknown(Unknown { type_name: "orbh.later.happened".to_owned(), data });
    let line = line_of(fact.clone());
    let (read, _) = decode(&line, place()).unwrap();
    assert_eq!(read, event(fact.clone()));
    assert_eq!(line_of(read.fact), line);
    let mut story = Story::new(Mode::Headless);
    let before = story.session.clone();
    story.push(fact);
    assert_eq!(crate::session::Session { updated: before.updated, ..story.session }, before);
}

#[test]
fn a_rechained_line_keeps_every_byte_but_its_place() {
    let body = "{\"specversion\":\"1.0\",\"later\":{\"sequence\":1},\
        \"id\":\"00000000-0000-0000-0000-000000000003\",\"source\":\"/operator\",\
        \"type\":\"orbh.session.note_added\",\"time\":\"2026-01-01T00:00:00.000Z\",\
        \"subject\":\"5e550000-0000-4000-8000-000000000001\",\
        \"sequence\":\"0000000000000007\",\"data\":{\"text\":\"t\",\"newer\": 1.50}";
    let line = sealed(body);
    let same = rechain(&line, NewPlace { sequence: None, previous: place().previous }).unwrap();
    assert_eq!(same.bytes, [line.as_slice(), b"\n"].concat());
    let moved = rechain(&line, NewPlace { sequence: Some(123), previous: 99 }).unwrap();
    let text = String::from_utf8(moved.bytes.clone()).unwrap();
    let expected = body.replace("0000000000000007", "0000000000000123");
    assert_eq!(text.strip_suffix('\n').unwrap().rsplit_once(",\"crc\"").unwrap().0, expected);
    let target = Place { sequence: 123, previous: 99, ..place() };
    let (event, chain) = decode(text.trim_end().as_bytes(), target).unwrap();
    assert_eq!((event.sequence, chain), (123, moved.chain));
    assert!(rechain(b"{}", NewPlace { sequence: None, previous: 0 }).is_err());
    assert!(rechain(&sealed("{\"a\":1"), NewPlace { sequence: Some(1), previous: 0 }).is_err());
}

fn facts() -> impl Strategy<Value = Fact> {
    let request_id = any::<u128>().prop_map(|n| RequestId::from_uuid(uuid::Uuid::from_u128(n)));
    prop_oneof![
        (".*", any::<u64>(), any::<String>()).prop_map(|(room, through_sequence, text)| {
            RoomNoticed { room, through_sequence, text }.into()
        }),
        request_id.prop_map(|request_id| RequestCancelled { request_id }.into()),
        ("[a-z.]{1,20}", any::<u32>()).prop_map(|(name, n)| Fact::Unknown(Unknown {
            type_name: format!("x.{name}"),
            data: RawValue::from_string(format!("{{\"n\": {n} }}")).unwrap(),
        })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_line_reads_back_as_it_was_written(
        fact in facts(),
        source in any::<String>(),
        ms in any::<i64>(),
        (sequence, previous) in (1_u64..9_999_999_999_999_999, any::<u32>()),
    ) {
        let id = SessionId::random([7; 16]);
        let draft = Draft {
            id: EventId::ordered(Timestamp::from_millis(ms), [9; 10]),
            source: Source::from(source.as_str()),
            time: Timestamp::from_millis(ms),
            fact,
        };
        let encoded = encode_draft(&draft, id, sequence, previous).unwrap();
        let line = encoded.bytes.strip_suffix(b"\n").unwrap();
        prop_assert!(!line.contains(&b'\n'));
        let (event, chain) = decode(line, Place { subject: id, sequence, previous }).unwrap();
        prop_assert_eq!(chain, encoded.chain);
        prop_assert_eq!(&event, &draft.at(id, sequence));
        prop_assert_eq!(encode(&event, previous).unwrap(), encoded);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = split(&bytes);
        let _ = parse(&bytes);
        let _ = rechain(&bytes, NewPlace { sequence: Some(1), previous: 0 });
        prop_assert!(decode(&bytes, place()).is_err());
    }

    #[test]
    fn well_sealed_text_never_panics(text in "[ -~]{0,200}|[{\":,a-z\\[\\]}]{0,60}") {
        let line = sealed(&text);
        let _ = rechain(&line, NewPlace { sequence: Some(1), previous: 0 });
        prop_assert!(decode(&line, place()).is_err());
    }
}
