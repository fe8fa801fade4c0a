use std::io::{Cursor, Read, Seek, SeekFrom, Write};

use offhook_media::wav::{Recording, RepairError, mono, repair};
use offhook_media::{FRAME_SAMPLES, Frame};

fn frame(from: i16) -> Frame {
    std::array::from_fn(|place| from + place as i16)
}

fn read(bytes: Vec<u8>) -> (hound::WavSpec, Vec<i16>) {
    let mut reader = hound::WavReader::new(Cursor::new(bytes)).expect("WAV");
    let samples = reader.samples().collect::<Result<_, _>>().expect("samples");
    (reader.spec(), samples)
}

fn recorded(frames: i16) -> Recording<Cursor<Vec<u8>>> {
    let mut recording = Recording::new(Cursor::new(Vec::new())).expect("a recording");
    for number in 0..frames {
        recording
            .add(&frame(number * 7), &frame(-number * 3))
            .expect("written");
    }
    recording
}

#[test]
fn a_recording_has_the_caller_on_the_left_and_the_agent_on_the_right() {
    let recording = recorded(60);
    assert_eq!(recording.duration_ms(), 1_200);
    let (spec, samples) = read(recording.finish().expect("finished").into_inner());
    let expected = hound::WavSpec {
        channels: 2,
        sample_rate: 8_000,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    assert_eq!((spec, samples.len()), (expected, 60 * 2 * FRAME_SAMPLES));
    let pair = 2 * (59 * FRAME_SAMPLES + 5);
    assert_eq!(samples[pair..pair + 2], [59 * 7 + 5, -59 * 3 + 5]);
}

#[test]
fn a_file_of_one_channel_says_its_rate_and_length() {
    let (spec, samples) = read(mono(&[1, -2], 16_000));
    assert_eq!((spec.channels, spec.sample_rate), (1, 16_000));
    assert_eq!(samples, [1, -2]);
}

#[test]
fn a_recording_without_sound_is_one() {
    let (_, samples) = read(recorded(0).finish().expect("finished").into_inner());
    assert_eq!(samples, []);
}

#[test]
fn a_recording_that_was_cut_off_is_whole_to_its_last_save_and_repaired_to_the_last_sample() {
    let mut file = tempfile::tempfile().expect("a file");
    let mut recording = Recording::new(file.try_clone().expect("a file")).expect("a recording");
    for number in 0..120 {
        recording.add(&frame(number), &frame(0)).expect("written");
        if number == 99 {
            recording.save().expect("saved");
        }
    }
    // The process dies in the middle of a sample.
    drop(recording);
    file.seek(SeekFrom::End(0)).expect("the end");
    file.write_all(&[1, 2, 3]).expect("written");
    let bytes = |file: &mut std::fs::File| {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).expect("the start");
        file.read_to_end(&mut bytes).expect("read");
        bytes
    };
    assert_eq!(read(bytes(&mut file)).1.len(), 100 * 2 * FRAME_SAMPLES);
    assert_eq!(repair(&mut file).expect("repaired"), 2_400);
    assert_eq!(read(bytes(&mut file)).1.len(), 120 * 2 * FRAME_SAMPLES);
    assert_eq!(repair(&mut file).expect("again"), 2_400);
}

#[test]
fn only_recordings_are_repaired() {
    let whole = recorded(2).finish().expect("finished").into_inner();
    for (place, byte) in [(0, b'X'), (8, b'X'), (22, 1), (34, 8), (39, b'X')] {
        let mut other = whole.clone();
        other[place] = byte;
        let mut file = Cursor::new(other.clone());
        assert!(
            matches!(repair(&mut file), Err(RepairError::NoRecording)),
            "{place}"
        );
        assert_eq!(file.into_inner(), other);
    }
    assert!(matches!(
        repair(&mut Cursor::new(whole[..43].to_vec())),
        Err(RepairError::NoRecording)
    ));
    assert_eq!(
        repair(&mut Cursor::new(whole[..44].to_vec())).expect("an empty one"),
        0
    );
}
