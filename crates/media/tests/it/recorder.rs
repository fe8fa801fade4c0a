use std::path::Path;

use offhook_media::FRAME_SAMPLES;
use offhook_media::pump::Tick;
use offhook_media::recorder::{Recorded, Recorder};

fn tick(number: u64) -> Tick {
    Tick {
        number,
        heard: [number as i16 + 1; FRAME_SAMPLES],
        lost: false,
        said: number
            .is_multiple_of(2)
            .then_some([-(number as i16) - 1; FRAME_SAMPLES]),
    }
}

/// The first sample of each frame, left and right.
fn read(path: &Path) -> Vec<(i16, i16)> {
    let mut reader = hound::WavReader::open(path).expect("WAV");
    let samples: Vec<i16> = reader.samples().collect::<Result<_, _>>().expect("samples");
    samples
        .chunks_exact(2 * FRAME_SAMPLES)
        .map(|frame| (frame[0], frame[1]))
        .collect()
}

#[tokio::test]
async fn a_call_is_recorded_to_its_last_frame() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("call.wav");
    let (mut recorder, written) = Recorder::create(&path).expect("a recorder");
    (7..130).for_each(|number| recorder.record(&tick(number)));
    drop(recorder);
    let recorded = written.wait().await.expect("written");
    assert_eq!(recorded, Recorded { duration_ms: 2_460 });
    let expected: Vec<(i16, i16)> = (7..130)
        .map(|number| (number + 1, if number % 2 == 0 { -number - 1 } else { 0 }))
        .collect();
    assert_eq!(read(&path), expected);
}

#[tokio::test]
async fn ticks_that_were_dropped_are_silent() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("call.wav");
    let (mut recorder, written) = Recorder::create(&path).expect("a recorder");
    for number in [10, 11, 14, 15] {
        recorder.record(&tick(number));
    }
    drop(recorder);
    written.wait().await.expect("written");
    let expected = [(11, -11), (12, 0), (0, 0), (0, 0), (15, -15), (16, 0)];
    assert_eq!(read(&path), expected);
}

#[tokio::test]
async fn while_the_call_goes_on_the_file_is_whole_to_the_last_second() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("call.wav");
    let (mut recorder, _written) = Recorder::create(&path).expect("a recorder");
    (0..120).for_each(|number| recorder.record(&tick(number)));
    // As it is when the process dies now.
    while hound::WavReader::open(&path).map_or(0, |reader| reader.duration())
        < 100 * FRAME_SAMPLES as u32
    {
        tokio::task::yield_now().await;
    }
    assert_eq!(read(&path).len(), 100);
}

#[tokio::test]
async fn a_file_that_cannot_be_made_is_an_error() {
    assert!(Recorder::create(Path::new("/nowhere/call.wav")).is_err());
}
