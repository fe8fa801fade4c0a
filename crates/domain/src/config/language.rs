//! The syntax of language tags.

/// Returns whether a text has the syntax of a BCP 47 language tag (RFC 5646: `langtag` or private use), such as
/// `es-MX`. It does not check that its parts are registered.
#[must_use]
pub fn is_bcp47_shape(text: &str) -> bool {
    const MAX_CHARS: usize = 64;
    if text.len() > MAX_CHARS {
        return false;
    }
    let mut rest: Vec<&str> = text.split('-').collect();
    let well_formed = |part: &&str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    if !rest.iter().all(well_formed) {
        return false;
    }
    rest.reverse();

    let is_private = |part: &str| part.eq_ignore_ascii_case("x");
    if !rest.last().is_some_and(|part| is_private(part)) {
        let Some(language) = rest.pop().filter(|p| is_alpha(p) && p.len() >= 2) else {
            return false;
        };
        if language.len() <= 3 {
            skip(&mut rest, 3, |part| is_alpha(part) && part.len() == 3);
        }
        skip(&mut rest, 1, |part| is_alpha(part) && part.len() == 4);
        skip(&mut rest, 1, is_region);
        skip(&mut rest, usize::MAX, is_variant);
        while rest
            .last()
            .is_some_and(|part| part.len() == 1 && !is_private(part))
        {
            rest.pop();
            if skip(&mut rest, usize::MAX, |part| part.len() >= 2) == 0 {
                return false;
            }
        }
    }
    match rest.pop() {
        Some(part) => is_private(part) && !rest.is_empty(),
        None => true,
    }
}

/// Removes up to `most` matching parts from the end of the list, and counts them.
fn skip(rest: &mut Vec<&str>, most: usize, fits: impl Fn(&str) -> bool) -> usize {
    let count = rest
        .iter()
        .rev()
        .take(most)
        .take_while(|part| fits(part))
        .count();
    rest.truncate(rest.len() - count);
    count
}

fn is_alpha(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn is_region(part: &str) -> bool {
    (part.len() == 2 && is_alpha(part))
        || (part.len() == 3 && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_variant(part: &str) -> bool {
    part.len() >= 5 || (part.len() == 4 && part.as_bytes()[0].is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_tags_are_known_by_their_shape() {
        for tag in [
            "es",
            "es-MX",
            "es-419",
            "zh-Hant-TW",
            "zh-cmn-Hans-CN",
            "sl-rozaj-biske",
            "de-1901",
            "de-CH-1996",
            "en-u-ca-gregory",
            "en-a-bbb-x-a-ccc",
            "x-private",
            "und",
            "MAS",
        ] {
            assert!(is_bcp47_shape(tag), "{tag}");
        }
        for text in [
            "",
            "e",
            "es_MX",
            "es-",
            "-es",
            "es--MX",
            "es-M",
            "es-x",
            "en-u",
            "es-MX-MX",
            "Español",
            "es MX",
            "abcdefghi",
            "12",
            "es-MX.UTF8",
        ] {
            assert!(!is_bcp47_shape(text), "{text}");
        }
        assert!(!is_bcp47_shape(&format!("es{}", "-variant1".repeat(8))));
    }
}
