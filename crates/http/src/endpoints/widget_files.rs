//! The widget's files: `/widget/v1/offhook.js`, for a page's one script tag, and the audio module that it loads when
//! a visitor talks. They are static, need no key, and any page may load them.

use std::sync::LazyLock;

use actix_web::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, HeaderName};

use crate::FixedFile;
use crate::edge::paths::WIDGET_FILES;
use crate::prelude::*;

/// A page that isolates itself (COEP) only loads files from other origins that send this header.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

const SCRIPT: &str = "text/javascript; charset=utf-8";

pub(crate) fn routes() -> Vec<Endpoint> {
    let [widget, audio] = WIDGET_FILES;
    let at = |path, file: fn() -> &'static FixedFile| {
        let answer = move |req: HttpRequest| {
            let answer = send(&req, file());
            async { answer }
        };
        Endpoint::at(path).get(answer).head(answer)
    };
    vec![at(widget, script), at(audio, worklet)]
}

fn script() -> &'static FixedFile {
    static FILE: LazyLock<FixedFile> =
        LazyLock::new(|| FixedFile::new(SCRIPT, include_str!("../widget/offhook.js")));
    &FILE
}

/// The widget's microphone and loudspeaker: browsers load them as a separate module.
fn worklet() -> &'static FixedFile {
    static FILE: LazyLock<FixedFile> =
        LazyLock::new(|| FixedFile::new(SCRIPT, include_str!("../widget/offhook-audio.js")));
    &FILE
}

/// Browsers may keep a file but revalidate it on each load, so that a new version takes effect everywhere at once.
fn send(req: &HttpRequest, file: &FixedFile) -> HttpResponse {
    let headers = [
        (CACHE_CONTROL, "public, no-cache"),
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (RESOURCE_POLICY, "cross-origin"),
    ];
    file.answer(req, &headers)
}
