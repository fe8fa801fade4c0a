//! Markup as plain text.

use maud::Markup;

/// A part of a page without its tags, as Markdown.
pub(super) fn plain(markup: &Markup) -> String {
    let mut text = String::new();
    let mut pieces = markup.0.split('<');
    text.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (tag, rest) = piece.split_once('>').unwrap_or((piece, ""));
        let name = tag.split(' ').next().unwrap_or_default();
        text.push_str(match name {
            "h2" => "\n\n## ",
            "h3" => "\n\n### ",
            "dt" | "li" => "\n- ",
            "dd" => ": ",
            "p" => "\n\n",
            "pre" => "\n\n```\n",
            "/pre" => "\n```\n",
            "code" | "/code" if !text.ends_with("```\n") && !rest.starts_with('\n') => "`",
            _ => "",
        });
        text.push_str(rest);
    }
    // The code of a block is marked by its fence.
    let text = text.replace("`\n```\n", "\n```\n");
    for_reading(&text)
}

fn for_reading(escaped: &str) -> String {
    let text = escaped.replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&quot;", "\"").replace("&amp;", "&")
}
