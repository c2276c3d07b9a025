// quorate convert: the same examples in another format. Values are kept exactly; anything that the other format cannot hold
// is an error that names it.
#include <iostream>

#include "common.h"
#include "help.h"
#include "quorate/base/name_table.h"
#include "quorate/store/files.h"

namespace quorate::cli {
namespace {

constexpr std::size_t kMostColumns = 100'000;

struct ConvertOptions {
  std::string in, out, to;
  DataOptions read;
  ProgressOptions progress;
};

/// The feature columns of CSV output: those of the input, then every name that occurs, in order of first appearance
/// (numbers in their order). A missing number has none: its cell is empty. Reads the whole input.
CsvColumns columns_of(const ConvertOptions& o, const ReadOptions& options) {
  const auto reader = open_reader(o.in, options);
  NameTable names, missing;
  std::vector<Index> numbers;
  CsvColumns out;
  for (const std::string& name : reader->columns()) names.intern(name);
  Record record;
  while (reader->next(record)) {
    for (const RawText& text : record.texts)
      if (std::find(out.texts.begin(), out.texts.end(), text.name) == out.texts.end()) out.texts.emplace_back(text.name);
    out.time = out.time || !record.time.empty();
    out.weight = out.weight || record.weight != 1;
    for (const Entry& e : record.entries) {
      if (e.kind == Entry::Kind::kName) (missing_column(e).empty() ? names : missing).intern(e.name);
      if (e.kind == Entry::Kind::kIndex) numbers.push_back(e.index);
    }
    if (numbers.size() > 16 * kMostColumns) {
      std::sort(numbers.begin(), numbers.end());
      numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    }
    if (std::max(names.size(), missing.size()) > kMostColumns || numbers.size() > 32 * kMostColumns)
      throw DataError(reader->path() + ": more than " + grouped(kMostColumns) +
                      " features; expected fewer for a CSV file, or another format");
  }
  if (interrupt().stop_requested()) throw Interrupted("interrupted while reading " + reader->path());
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  for (const Index i : numbers) out.features.push_back(std::to_string(i));
  for (std::uint32_t i = 0; i < missing.size(); ++i) {
    const std::string_view column = missing[i].substr(0, missing[i].size() - kMissing.size());
    Index index = 0;
    const bool is_number =
        names.find(column) || (plain_number(column, &index) && std::ranges::binary_search(numbers, index));
    if (!is_number) names.intern(missing[i]);
  }
  for (std::uint32_t i = 0; i < names.size(); ++i) out.features.emplace_back(names[i]);
  if (out.features.size() > kMostColumns)
    throw DataError(reader->path() + ": more than " + grouped(kMostColumns) +
                    " features; expected fewer for a CSV file, or another format");
  return out;
}

int run(const ConvertOptions& o) {
  const std::stop_token stop = interrupt();
  if (o.out != "-") interrupt_on_closed_pipe();  // of progress; one of results ends the program
  const ReadOptions options = o.read.options();
  const FileFormat& to = o.to.empty() ? format_of(o.out) : format_named(o.to);
  if (o.out != "-" && (o.out.ends_with(".gz") || o.out.ends_with(".xz") || o.out.ends_with(".zst")))
    throw UsageError(o.out + ": compressed output is not supported; expected a name without .gz, .xz or .zst");
  check_output({"out", o.out}, {data_file("in", o.in)});
  CsvColumns columns;
  if (to.has_header) {
    if (o.in == "-")
      throw UsageError("CSV output needs two passes over the input; expected a file instead of standard input");
    columns = columns_of(o, options);
  }
  const auto writer = to.write(std::move(columns));
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
  report_skipped(reader->path(), reader->skipped(), reader->first_skipped(), reader->report());
  if (stop.stop_requested()) {
    std::cerr << "quorate: interrupted after example " << grouped(seen)
              << (o.out == "-" ? "\n" : "; " + o.out + " is not written\n");
    return kInterrupted;
  }
  out.commit();
  if (o.out != "-" && !o.progress.quiet)
    std::cerr << "quorate: " << counted(seen, "example") << " written to " << o.out << "\n";
  return kDone;
}

}  // namespace

Command add_convert(CLI::App& app) {
  const auto o = std::make_shared<ConvertOptions>();
  app.add_option("in", o->in, "file to read; - for standard input")->required()->type_name("FILE");
  app.add_option("out", o->out, "file to write; - for standard output")->required()->type_name("FILE");
  choose(app.add_option("--to", o->to, "format to write (default: by the file name)"), names_of_formats());
  o->progress.add(app);
  o->read.add(app, false);
  app.footer("Example:\n  quorate convert emails.csv emails.svm");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
