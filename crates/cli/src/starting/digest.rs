//! The prompt of a wake: everything that waits for a session at rest, in one text. Pure.

use creel_harness::WakeNote;

/// Bytes of one note; the rest stays in the record, which the note names.
const MAX_NOTE_BYTES: usize = 256 * 1024;
/// Bytes of all notes together. Rendering at worst triples them, which stays below the bound of a
/// prompt; what doesn't fit waits for the next wake.
const MAX_DIGEST_BYTES: usize = 2 * 1024 * 1024;

/// Something that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// The event it came by; none for what isn't counted by sequence (answers, a time).
    pub(crate) sequence: Option<u64>,
    /// What it is, as a short noun.
    pub(crate) what: &'static str,
    /// Whom it comes from.
    pub(crate) from: String,
    /// Its text.
    pub(crate) text: String,
    /// Where the whole text is, when it is cut.
    pub(crate) whole: String,
}

/// A digest and how far it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Digest {
    /// The prompt.
    pub(crate) text: String,
    /// The last sequence that it covers; none when it holds nothing that is counted.
    pub(crate) through_sequence: Option<u64>,
}

/// Renders the notes that fit, in order. Those without a sequence are always in, since nothing
/// else would bring them again; there are at most as many as a session has open questions.
pub(crate) fn digest(session_id: &str, notes: &[Note]) -> Digest {
    let mut room = MAX_DIGEST_BYTES;
    let mut through_sequence = None;
    let mut shown: Vec<(&Note, String)> = Vec::new();
    let mut is_full = false;
    for note in notes {
        let text = cut(note);
        let fits = text.len() <= room;
        if note.sequence.is_some() {
            // The covered part must stay one stretch, so nothing after a gap is taken.
            is_full |= !fits;
            if is_full {
                continue;
            }
            through_sequence = note.sequence;
        }
        room = room.saturating_sub(text.len());
        shown.push((note, text));
    }
    let wake_notes: Vec<WakeNote<'_>> = shown
        .iter()
        .map(|(note, text)| WakeNote { what: note.what, from: &note.from, text })
        .collect();
    Digest { text: creel_harness::wake_text(session_id, &wake_notes), through_sequence }
}

fn cut(note: &Note) -> String {
    if note.text.len() <= MAX_NOTE_BYTES {
        return note.text.clone();
    }
    let end = (0..=MAX_NOTE_BYTES).rev().find(|at| note.text.is_char_boundary(*at)).unwrap_or(0);
    let kept = note.text.get(..end).unwrap_or_default();
    format!("{kept}\n(cut; the whole text: {})", note.whole)
}

#[cfg(test)]
mod tests {
    use super::{Digest, MAX_NOTE_BYTES, Note, digest};

    fn note(sequence: Option<u64>, text: String) -> Note {
        let (what, from) = ("message", "operator".to_owned());
        Note { sequence, what, from, text, whole: "creel events s".to_owned() }
    }

    fn check(notes: &[Note], through_sequence: Option<u64>, expected_notes: usize) {
        let Digest { text, through_sequence: through } = digest("s", notes);
        assert_eq!(through, through_sequence);
        assert_eq!(text.matches("\n- message from operator:").count(), expected_notes);
        assert!(text.len() <= creel_record::limits::MAX_PAYLOAD_BYTES);
    }

    #[test]
    fn everything_that_fits_is_in_and_the_rest_waits() {
        check(&[note(Some(4), "a".into()), note(Some(6), "b".into())], Some(6), 2);
        check(&[note(None, "a".into())], None, 1);
        let long = "\n".repeat(MAX_NOTE_BYTES * 2);
        let many: Vec<Note> = (0..40).map(|n| note(Some(n), long.clone())).collect();
        check(&many, Some(6), 7);
        let answers: Vec<Note> = (0..8).map(|_| note(None, long.clone())).collect();
        check(&answers, None, 8);
    }

    #[test]
    fn a_small_digest_reads_well() {
        insta::assert_snapshot!(digest("s", &[note(Some(1), "look\nhere".into())]).text, @"
        Creel session s is awake again. Since its last turn:

        - message from operator:
          look
          here
        ");
    }
}
