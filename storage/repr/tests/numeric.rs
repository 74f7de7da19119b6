//! `numeric` against a table that PostgreSQL 15 made (operation, arguments, result or error).

mod support;

use repr::{Numeric, ValueError};
use support::Random;

fn evaluate(operation: &str, a: &str, b: &str) -> Result<String, ValueError> {
    let x: Numeric = a.parse()?;
    let text = |result: Result<Numeric, ValueError>| result.map(|value| value.to_string());
    let other = || b.parse::<Numeric>();
    let digits = || b.parse::<i32>().expect("an integer");
    match operation {
        "+" => text(x.add(&other()?)),
        "-" => text(x.sub(&other()?)),
        "*" => text(x.mul(&other()?)),
        "/" => text(x.div(&other()?)),
        "%" => text(x.rem(&other()?)),
        "div" => text(x.div_trunc(&other()?)),
        "power" => text(x.power(&other()?)),
        "log" if b.is_empty() => text(x.log10()),
        "log" => text(Numeric::log(&x, &other()?)),
        "cmp" => Ok((x.sql_cmp(&other()?) as i8).to_string()),
        "sqrt" => text(x.sqrt()),
        "exp" => text(x.exp()),
        "ln" => text(x.ln()),
        "abs" => Ok(x.abs().to_string()),
        "sign" => Ok(x.sign().to_string()),
        "ceil" => Ok(x.ceil().to_string()),
        "floor" => Ok(x.floor().to_string()),
        "min_scale" => Ok(x.min_scale().map_or(String::new(), |scale| scale.to_string())),
        "trim_scale" => Ok(x.trim_scale().to_string()),
        "round" => text(x.round(digits())),
        "trunc" => text(x.trunc(digits())),
        "to_f64" => x.to_f64().map(repr::text::format_float8),
        "to_f32" => x.to_f32().map(repr::text::format_float4),
        "to_i16" => x.to_i16().map(|value| value.to_string()),
        "to_i32" => x.to_i32().map(|value| value.to_string()),
        "to_i64" => x.to_i64().map(|value| value.to_string()),
        "parse" => Ok(x.to_string()),
        "mod" => {
            let (precision, scale) = b.split_once(',').expect("two numbers");
            let parse = |part: &str| part.parse().expect("an integer");
            text(x.apply_modifier(repr::types::encode_numeric_modifier(parse(precision), parse(scale))?))
        }
        unknown => panic!("unknown operation {unknown}"),
    }
}

#[test]
fn results_are_postgresqls() {
    let mut wrong = Vec::new();
    for line in include_str!("golden/numeric.tsv").lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        let got = evaluate(parts[0], parts[1], parts[2]).unwrap_or_else(|error| {
            let detail = error.detail.as_ref().map_or(String::new(), |detail| format!(" / {detail}"));
            format!("ERROR {} {}{detail}", error.code, error.message)
        });
        if got != parts[3] {
            wrong.push(format!("{line}\n    got {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn text_returns_the_value() {
    let mut random = Random(4);
    for _ in 0..5_000 {
        let value = random.numeric();
        assert_eq!(value.to_string().parse(), Ok(value));
    }
}
