//! The widget's files: `/widget/v1/offhook.js`, which a page's one script tag names, and the sound that it loads when
//! somebody talks. They are the same for everybody, need no key, and any page may load them.

use std::sync::LazyLock;

use actix_web::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, HeaderName};
use actix_web::{HttpRequest, HttpResponse};

use crate::FixedFile;
use crate::routes::Endpoint;

/// The files' paths.
pub(crate) const PATHS: [&str; 2] = ["/widget/v1/offhook.js", "/widget/v1/offhook-audio.js"];

/// A page that isolates itself (COEP) loads from elsewhere only what says this.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The paths.
pub(crate) fn routes() -> Vec<Endpoint> {
    let [widget, audio] = PATHS;
    let at = |path, file: fn() -> &'static FixedFile| {
        let answer = move |req: HttpRequest| {
            let answer = send(&req, file());
            async { answer }
        };
        Endpoint::at(path).get(answer).head(answer)
    };
    vec![at(widget, script), at(audio, worklet)]
}

/// The widget.
fn script() -> &'static FixedFile {
    static FILE: LazyLock<FixedFile> =
        LazyLock::new(|| FixedFile::new(SCRIPT, include_str!("../widget/offhook.js")));
    &FILE
}

/// Its microphone and loudspeaker: browsers load them as a module of its own.
fn worklet() -> &'static FixedFile {
    static FILE: LazyLock<FixedFile> =
        LazyLock::new(|| FixedFile::new(SCRIPT, include_str!("../widget/offhook-audio.js")));
    &FILE
}

/// A file is kept for as long as there is room, and asked for anew each time, so that a new version of the service is
/// everywhere at once.
fn send(req: &HttpRequest, file: &FixedFile) -> HttpResponse {
    let headers = [
        (CACHE_CONTROL, "public, no-cache"),
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (RESOURCE_POLICY, "cross-origin"),
    ];
    file.answer(req, &headers)
}
