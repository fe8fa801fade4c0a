//! Runs every input that fuzzing has kept (tests/fuzz/corpus) through the targets of `scripts/fuzz-parsers`.

use std::panic::catch_unwind;
use std::path::Path;

use offhook_tests::FUZZ_TARGETS;

#[test]
fn every_kept_input_still_passes_its_target() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let mut broken = Vec::new();
    for (name, target) in FUZZ_TARGETS {
        let mut inputs = 0;
        for entry in std::fs::read_dir(corpus.join(name)).expect("a corpus") {
            let path = entry.expect("an input").path();
            let input = std::fs::read(&path).expect("an input");
            inputs += 1;
            if catch_unwind(|| target(&input)).is_err() {
                broken.push(path);
            }
        }
        assert!(inputs > 10, "{name}: {inputs} inputs");
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
