//! The words that a regular verb gives, with their classes.

/// Spanish.
pub(super) fn spanish(verb: &str) -> Vec<(&'static str, String)> {
    let (stem, is_ar) = match verb.strip_suffix("ar") {
        Some(stem) => (stem.to_owned(), true),
        None => (verb[..verb.len() - 2].to_owned(), false),
    };
    let soft = match stem.chars().last() {
        Some('c') if is_ar => format!("{}qu", &stem[..stem.len() - 1]),
        Some('g') if is_ar => format!("{stem}u"),
        Some('z') if is_ar => format!("{}c", &stem[..stem.len() - 1]),
        _ => stem.clone(),
    };
    let (i, he, we, part) = match is_ar {
        true => ("é", "ó", "amos", "ad"),
        false => ("í", "ió", "imos", "id"),
    };
    let mut forms = vec![
        ("PRET1", format!("{soft}{i}")),
        ("PRET3", format!("{stem}{he}")),
        ("PLURAL1", format!("{stem}{we}")),
        ("INF", verb.to_owned()),
    ];
    let endings = ["o", "a", "os", "as"].into_iter();
    forms.extend(endings.map(|ending| ("PART", format!("{stem}{part}{ending}"))));
    let objects = ["le", "les", "lo", "la", "los", "las", "te"].into_iter();
    forms.extend(objects.map(|object| ("INF", format!("{verb}{object}"))));
    for object in ["lo", "la", "los", "las"] {
        for to in ["se", "te"] {
            let stressed = ["ar", "er", "ir"].into_iter().zip(["ár", "ér", "ír"]);
            for (plain, accent) in stressed {
                if let Some(stem) = verb.strip_suffix(plain) {
                    forms.push(("INF", format!("{stem}{accent}{to}{object}")));
                }
            }
        }
    }
    forms
}

/// French.
pub(super) fn french(verb: &str) -> Vec<(&'static str, String)> {
    let Some(stem) = verb.strip_suffix("er") else {
        return Vec::new();
    };
    let endings = ["é", "ée", "és", "ées"].into_iter();
    let mut forms: Vec<_> = endings
        .map(|ending| ("PART", format!("{stem}{ending}")))
        .collect();
    forms.push(("INF", verb.to_owned()));
    forms
}

/// Portuguese.
pub(super) fn portuguese(verb: &str) -> Vec<(&'static str, String)> {
    let Some((stem, end)) = verb.split_at_checked(verb.len() - 2) else {
        return Vec::new();
    };
    let soft = match stem.chars().last() {
        Some('c') if end == "ar" => format!("{}qu", &stem[..stem.len() - 1]),
        Some('g') if end == "ar" => format!("{stem}u"),
        Some('ç') if end == "ar" => format!("{}c", &stem[..stem.len() - 'ç'.len_utf8()]),
        _ => stem.to_owned(),
    };
    let (i, we, part) = match end {
        "ar" => ("ei", "amos", "ad"),
        "er" => ("i", "emos", "id"),
        _ => ("i", "imos", "id"),
    };
    // "Incluir" has "incluí" and "incluído".
    let (i, part) = match stem.ends_with('u') && end == "ir" {
        true => ("í", "íd"),
        false => (i, part),
    };
    let mut forms = vec![
        ("PRET1", format!("{soft}{i}")),
        ("PLURAL1", format!("{stem}{we}")),
        ("INF", verb.to_owned()),
    ];
    let endings = ["o", "a", "os", "as"].into_iter();
    forms.extend(endings.map(|ending| ("PART", format!("{stem}{part}{ending}"))));
    forms
}
