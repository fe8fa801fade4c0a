use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use offhook_media::FRAME_SAMPLES;
use offhook_media::pump::Tick;
use offhook_media::recorder::{Recorded, Recorder, Written};
use proptest::prelude::*;

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

fn begin(path: &Path) -> (Recorder, Written) {
    let path = PathBuf::from(path);
    Recorder::begin(move || {
        File::options()
            .create_new(true)
            .read(true)
            .write(true)
            .open(path)
    })
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
    let (mut recorder, written) = begin(&path);
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
    let (mut recorder, written) = begin(&path);
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
    let (mut recorder, _written) = begin(&path);
    (0..120).for_each(|number| recorder.record(&tick(number)));
    // The file as it would be if the process died now.
    while hound::WavReader::open(&path).map_or(0, |reader| reader.duration())
        < 100 * FRAME_SAMPLES as u32
    {
        tokio::task::yield_now().await;
    }
    assert_eq!(read(&path).len(), 100);
}

#[tokio::test]
async fn without_a_tick_there_is_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("call.wav");
    let (recorder, written) = begin(&path);
    drop(recorder);
    let recorded = written.wait().await.expect("nothing written");
    assert_eq!(recorded, Recorded { duration_ms: 0 });
    assert!(!path.exists());
}

#[tokio::test]
async fn a_disk_that_fails_ends_the_recording_and_not_the_call() {
    let (mut recorder, written) = Recorder::begin(|| Err(io::ErrorKind::StorageFull.into()));
    (0..50).for_each(|number| recorder.record(&tick(number)));
    let failed = written.wait().await.expect_err("a full disk");
    assert_eq!(failed.kind(), io::ErrorKind::StorageFull);
    (50..200).for_each(|number| recorder.record(&tick(number)));
}

#[test]
fn samples_are_in_the_file_at_their_ticks_time_whatever_is_lost() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let gap = prop_oneof![20 => Just(1_u64), 2 => 2_u64..60, 1 => 60_u64..400];
    let strategy = (0_u64..50, proptest::collection::vec(gap, 1..120));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(32));
    runner
        .run(&strategy, |(first, gaps)| {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("call.wav");
            let mut expected = vec![(0, 0); gaps.iter().sum::<u64>() as usize + 1];
            runtime.block_on(async {
                let (mut recorder, written) = begin(&path);
                let mut number = first;
                for gap in [&[0], gaps.as_slice()].concat() {
                    number += gap;
                    let tick = tick(number);
                    let said = tick.said.map_or(0, |said| said[0]);
                    expected[(number - first) as usize] = (tick.heard[0], said);
                    recorder.record(&tick);
                }
                drop(recorder);
                written.wait().await.expect("written");
            });
            prop_assert_eq!(read(&path), expected);
            Ok(())
        })
        .expect("every frame in its place");
}
