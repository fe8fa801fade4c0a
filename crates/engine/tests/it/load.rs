//! The memory of a call.

use std::mem::size_of_val;

use offhook_engine::CallControl;

use crate::it::fakes::{Notes, stage};

#[tokio::test(start_paused = true)]
async fn a_session_is_a_small_future() {
    let (session, _events, _carrier) = stage().session();
    let (notes, control) = (Notes::default(), CallControl::new());
    let future = offhook_engine::run(session, &notes, &control);
    let bytes = size_of_val(&future);
    assert!(bytes < 4 * 1024, "{bytes} bytes");
}
