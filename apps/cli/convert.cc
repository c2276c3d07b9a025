// quorate convert: the same examples in another format. What the other format can hold is kept exactly; what it cannot is
// an error that names it.
#include <iostream>

#include "common.h"
#include "quorate/base/name_table.h"
#include "quorate/store/files.h"

namespace quorate::cli {
namespace {

constexpr std::size_t kMostColumns = 100'000;

struct Options {
  std::string in, out, to;
  DataOptions read;
  ProgressOptions progress;
};

/// The feature columns of CSV output: those of the input, then every name that occurs, in order of first appearance
/// (numbers in their order). Reads the whole input.
CsvColumns columns_of(const Options& o, const ReadOptions& options) {
  const auto reader = open_reader(o.in, options);
  NameTable names;
  std::vector<Index> numbers;
  CsvColumns out;
  for (const std::string& name : reader->columns()) names.intern(name);
  Record record;
  while (reader->next(record)) {
    out.text = out.text || record.has_text;
    out.time = out.time || !record.time.empty();
    for (const Entry& e : record.entries) {
      if (e.kind == Entry::Kind::kName) names.intern(e.name);
      if (e.kind == Entry::Kind::kIndex) numbers.push_back(e.index);
    }
    if (numbers.size() > 16 * kMostColumns) {
      std::sort(numbers.begin(), numbers.end());
      numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    }
    if (names.size() > kMostColumns || numbers.size() > 32 * kMostColumns)
      throw DataError(reader->path() + ": more than " + grouped(kMostColumns) +
                      " features; expected fewer for a CSV file, or another format");
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  for (const Index i : numbers) out.features.push_back(std::to_string(i));
  for (std::uint32_t i = 0; i < names.size(); ++i) out.features.emplace_back(names[i]);
  if (out.features.size() > kMostColumns)
    throw DataError(reader->path() + ": more than " + grouped(kMostColumns) +
                    " features; expected fewer for a CSV file, or another format");
  return out;
}

int run(const Options& o) {
  const std::stop_token stop = interrupt();
  const ReadOptions options = o.read.options();
  const Format to = o.to.empty() ? format_of(o.out) : format_named(o.to);
  if (o.out != "-" && (o.out.ends_with(".gz") || o.out.ends_with(".xz") || o.out.ends_with(".zst")))
    throw UsageError(o.out + ": packed files are read, not written; expected a name without the packing's ending");
  CsvColumns columns;
  if (to == Format::kCsv) {
    if (o.in == "-") throw UsageError("CSV has a header, so the input is read twice; expected a file, not standard input");
    columns = columns_of(o, options);
  }
  const auto writer = make_writer(to, std::move(columns));
  const auto reader = open_reader(o.in, options);
  OutputFile out(o.out);
  try {
    out.write(writer->header());
  } catch (const DataError& e) {
    throw DataError(reader->path() + ": " + e.what());
  }
  std::atomic<std::uint64_t> seen = 0, consumed = 0;
  {
    const Progress progress_line(
        o.progress, share_read(reader->path(), consumed), [&] { return seen.load(); }, o.out == "-");
    Record record;
    while (!stop.stop_requested() && reader->next(record)) {
      try {
        out.write(writer->line(record));
      } catch (const DataError& e) {
        throw DataError(reader->path() + ":" + std::to_string(reader->line_number()) + ": " + e.what());
      }
      consumed = reader->consumed();
      ++seen;
    }
  }
  report_skipped(*reader);
  if (stop.stop_requested()) {
    std::cerr << "quorate: interrupted after example " << grouped(seen)
              << (o.out == "-" ? "\n" : "; " + o.out + " is not written\n");
    return kInterrupted;
  }
  out.commit();
  if (o.out != "-" && !o.progress.quiet)
    std::cerr << "quorate: " << grouped(seen) << " examples written to " << o.out << "\n";
  return kDone;
}

}  // namespace

Command add_convert(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.add_option("in", o->in, "file to read; - for standard input")->required();
  app.add_option("out", o->out, "file to write; - for standard output")->required();
  app.add_option("--to", o->to, "csv, jsonl, svmlight or vw; default: by the ending of the name");
  o->progress.add(app);
  o->read.add(app);
  app.footer("Example:\n  quorate convert mails.csv mails.svm");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
