#include "quorate/stream/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorate/base/error.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

TEST(Labels, OnesAndMinusOnesOrZerosAreTheLabels) {
  Labels a;
  EXPECT_EQ(a("1").code(), 1);
  EXPECT_EQ(a("+1").code(), 1);
  EXPECT_EQ(a("1.0").code(), 1);
  EXPECT_EQ(a("-1").code(), -1);
  EXPECT_EQ(a("-1.0").code(), -1);
  EXPECT_EQ(a.word(1), "1");
  EXPECT_EQ(a.word(-1), "-1");
  Labels b;
  EXPECT_EQ(b("0").code(), -1);
  EXPECT_EQ(b("1").code(), 1);
  EXPECT_EQ(b("0.0").code(), -1);
  EXPECT_EQ(b.word(-1), "0");
  EXPECT_EQ(Labels().word(-1), "-1");
}

TEST(Labels, NothingAndAQuestionMarkAreMissing) {
  for (const std::string positive : {"", "spam"}) {
    Labels labels(positive);
    EXPECT_EQ(labels("").code(), 0);
    EXPECT_EQ(labels("?").code(), 0);
    EXPECT_EQ(labels.negative(), "");
  }
}

TEST(Labels, AWordOutsideTheSetIsRefusedWithTheValue) {
  for (const std::string bad : {"2", "spam", "-2", "0.5", "inf", "1 1", "1x", "+-1", "++1", "+", "-", "yes!", "1e"}) {
    Labels labels;
    try {
      labels(bad);
      ADD_FAILURE() << "'" << bad << "' accepted";
    } catch (const DataError& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr("'" + bad + "'"), HasSubstr("expected"), HasSubstr("--positive")));
    }
  }
}

TEST(Labels, SpaceAndFormDoNotCount) {
  Labels labels("caf\u00E9");
  for (const char* yes : {"caf\u00E9", " caf\u00E9", "cafe\u0301", "caf\u00E9\u00A0", "\u200Bcaf\u00E9\t"})
    EXPECT_EQ(labels(yes), Label(kYes)) << yes;
  for (const char* near : {"Caf\u00E9", "ca f\u00E9", "CAFE\u0301"}) EXPECT_THROW(labels(near), DataError) << near;
  EXPECT_EQ(labels("cafe"), Label(kNo));
  labels.set_as_written(true);
  for (const char* no : {" caf\u00E9", "Caf\u00E9", "NA"}) EXPECT_EQ(labels(no), Label(kNo)) << no;
}

TEST(Labels, NumbersAreEqualByValue) {
  Labels numbers;
  EXPECT_EQ(numbers("1.0"), Label(kYes));
  EXPECT_EQ(numbers("0.0"), Label(kNo));
  EXPECT_EQ(numbers("true"), Label(kYes));
  EXPECT_EQ(numbers("false"), Label(kNo));
  Labels two("2");
  EXPECT_EQ(two("2.0"), Label(kYes));
  EXPECT_EQ(two("1"), Label(kNo));
  ClassNames classes;
  const Label one = classes("1", false);
  EXPECT_EQ(classes("1.0", false), one);
  EXPECT_THAT(classes.names(), testing::ElementsAre("1"));
}

TEST(Labels, AListIsNoLabel) {
  for (const char* list : {"['spam']", "[\"spam\",\"ham\"]", "{\"choices\":[\"spam\"]}"}) {
    Labels labels("spam");
    EXPECT_THROW(labels(list), DataError) << list;
    EXPECT_THROW(ClassNames()(list, false), DataError) << list;
  }
}

TEST(Labels, WhatWasTakenIsSaid) {
  Labels labels("spam");
  EXPECT_EQ(labels.taken(), "");
  labels("ham");
  EXPECT_EQ(labels.taken(), "");
  labels("news");
  labels("NA");
  EXPECT_EQ(labels.taken(),
            "1 label is 'NA' taken for none (--labels-as-written: a label like others); 2 different labels mean not 'spam': "
            "'ham', 'news'");
}

TEST(Labels, TwoKindsOfNegativesAreRefused) {
  Labels labels;
  labels("0");
  EXPECT_THROW(labels("-1"), DataError);
  EXPECT_EQ(labels("0").code(), -1);
  EXPECT_EQ(labels("1").code(), 1);
}

TEST(Labels, WithAPositiveWordEveryOtherIsNegative) {
  Labels labels("spam");
  EXPECT_EQ(labels("spam").code(), 1);
  EXPECT_EQ(labels.word(-1), "not-spam");
  EXPECT_EQ(labels("ham").code(), -1);
  EXPECT_EQ(labels("ham").code(), -1);
  EXPECT_EQ(labels.word(-1), "ham");
  EXPECT_EQ(labels("1").code(), -1);
  EXPECT_EQ(labels.word(-1), "not-spam") << "there are several";
  EXPECT_EQ(labels("ham").code(), -1);
  EXPECT_EQ(labels.word(-1), "not-spam");
  EXPECT_EQ(labels.word(1), "spam");
  Labels restored;
  restored.restore("spam", "ham");
  EXPECT_EQ(restored("spam").code(), 1);
  EXPECT_EQ(restored.word(-1), "ham");
}

TEST(ClassNames, WordsGetTheirPlacesAsTheyCome) {
  ClassNames classes;
  EXPECT_EQ(classes("b", false).code(), 1);
  EXPECT_EQ(classes("a", false).code(), 2);
  EXPECT_EQ(classes("b", false).code(), 1);
  EXPECT_EQ(classes("", false).code(), 0);
  EXPECT_EQ(classes("?", false).code(), 0);
  EXPECT_EQ(classes("0", false).code(), 3) << "a word like any other";
  EXPECT_THAT(classes.names(), testing::ElementsAre("b", "a", "0"));
}

TEST(ClassNames, AWordThatIsNoClassIsRefusedWithTheClasses) {
  ClassNames few({"cat", "dog"});
  EXPECT_EQ(few("dog", true).code(), 2);
  EXPECT_EQ(few("", true).code(), 0) << "missing is no error";
  try {
    few("cow", true);
    FAIL() << "accepted";
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("'cow'"), HasSubstr("expected one of the 2 classes cat, dog")));
    EXPECT_THAT(e.what(), testing::Not(HasSubstr("...")));
  }
  EXPECT_EQ(few.names().size(), 2u);
  std::vector<std::string> names;
  for (int c = 0; c < 11; ++c) names.push_back("c" + std::to_string(c));
  ClassNames many(names);
  try {
    many("cow", true);
    FAIL() << "accepted";
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("11 classes"), HasSubstr("c9, ..."), testing::Not(HasSubstr("c10"))));
  }
}

TEST(ClassNames, ThereAreAtMostAThousand) {
  ClassNames classes;
  for (std::size_t c = 0; c < ClassNames::kMost; ++c) ASSERT_EQ(classes(std::to_string(c), false), Label::of_class(c));
  EXPECT_EQ(classes("999", false).code(), 1000) << "those that are there stay";
  try {
    classes("one more", false);
    FAIL() << "accepted";
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("'one more'"), HasSubstr("1000"), HasSubstr("expected")));
  }
}

TEST(ClassNames, SortIsByValueIfAllAreNumbersElseAsText) {
  const auto sorted = [](std::vector<std::string> names) {
    ClassNames classes(names);
    const auto place = classes.sort();
    EXPECT_EQ(place.size(), names.size());
    for (std::size_t c = 0; c < names.size(); ++c) EXPECT_EQ(classes.names()[place[c]], names[c]) << "the new place of each";
    return classes.names();
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(sorted({"10", "9", "-1", "+2.5"}), Words({"-1", "+2.5", "9", "10"}));
  EXPECT_EQ(sorted({"10", "9", "x"}), Words({"10", "9", "x"}));
  EXPECT_EQ(sorted({"b", "a", "B"}), Words({"B", "a", "b"}));
  EXPECT_EQ(sorted({"1.0", "2", "1", "01"}), Words({"01", "1", "1.0", "2"})) << "of equal value: as text";
  EXPECT_EQ(sorted({}), Words());
}

TEST(Labels, OfClassesGiveOnePlusThePlace) {
  Labels grows = Labels::of_classes({}, true), known = Labels::of_classes(ClassNames({"cat", "dog"}), false);
  EXPECT_EQ(grows("7").code(), 1);
  EXPECT_EQ(grows("-1").code(), 2) << "not a negative";
  EXPECT_EQ(grows("?").code(), 0);
  EXPECT_THAT(grows.classes().names(), testing::ElementsAre("7", "-1"));
  EXPECT_EQ(known("dog").code(), 2);
  EXPECT_EQ(known("").code(), 0);
  EXPECT_THROW(known("cow"), DataError);
}

TEST(Labels, SeveralInOneAreRefusedWhereTheirPartsAreClasses) {
  for (const std::string separator : {";", ",", "|", " ; "}) {
    try {
      check_one_label_each({"spam", "urgent", "spam" + separator + "urgent"});
      FAIL() << separator;
    } catch (const DataError& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr("'spam" + separator + "urgent', beside 'spam' and 'urgent'"),
                                  HasSubstr("1 of 3"), HasSubstr("yes and no")));
    }
  }
  EXPECT_NO_THROW(check_one_label_each({"spam", "urgent", "spam;private"})) << "private does not occur alone";
  EXPECT_NO_THROW(check_one_label_each({"a;b", "c|d", "e,f"}));
  EXPECT_NO_THROW(check_one_label_each({"1", "2", "3", "4", "5", "6", "7", "8", "9", "1;2", "10"})) << "one in eleven";
  EXPECT_THROW(check_one_label_each({"1", "2", "3", "4", "5", "6", "7", "8", "9", "1;2"}), DataError) << "one in ten";
  EXPECT_THROW(check_one_label_each({"spam;work", "work;urgent", "spam;urgent"}), DataError) << "none alone";
  EXPECT_THROW(check_one_label_each({"spam,work", "none", "work,urgent", "spam,urgent"}), DataError) << "most";
  EXPECT_NO_THROW(check_one_label_each({"Paris, France", "Lyon, France", "Rome, Italy"})) << "Paris occurs once";
  EXPECT_THROW(check_one_label_each({"ham", "spam", "ham;urgent", "spam;urgent"}), DataError) << "urgent beside both";
  EXPECT_NO_THROW(check_one_label_each({"Paris", "Paris, France", "Lyon, France"})) << "beside one of them";
  EXPECT_NO_THROW(check_one_label_each({"child|S", "child|M", "adult|S", "adult|M"})) << "each part has its place";
}

TEST(Labels, ThePositiveWordInOtherLettersIsRefused) {
  Labels labels("spam");
  EXPECT_EQ(labels("ham"), Label(kNo));
  EXPECT_THROW(labels("Spam"), DataError);
  Labels pair;
  EXPECT_EQ(pair("yes"), Label(kYes));
  EXPECT_EQ(pair("YES"), Label(kYes)) << "of a pair any letters will do";
}

TEST(Labels, OfAModelOtherWordsAreNoticed) {
  const auto read = [](Labels labels, std::initializer_list<const char*> words) {
    for (const char* word : words) labels(word);
    return labels;
  };
  Labels one, several;
  one.restore("spam", "ham");
  several.restore("spam", "not-spam");
  EXPECT_FALSE(read(one, {"ham"}).other_words()) << "a word that it knows";
  EXPECT_FALSE(read(one, {"junk", "spam"}).other_words()) << "the positive one came";
  EXPECT_TRUE(read(one, {"junk", "ham"}).other_words());
  EXPECT_FALSE(read(several, {"junk"}).other_words()) << "it may have known junk";
  EXPECT_THAT(read(one, {"junk", "fine"}).no_positive(), HasSubstr("'spam', which means +1; the labels are 'fine', 'junk'"));
}

TEST(Labels, ThePositiveWordAmongSeveralIsRefused) {
  Labels labels("spam");
  EXPECT_THROW(labels("spam;urgent"), DataError);
  for (const char* one : {"not spam", "no-spam", "very spam"}) EXPECT_EQ(labels(one), Label(kNo)) << one;
  EXPECT_EQ(labels("urgent"), Label(kNo));
  EXPECT_EQ(labels("spammer;urgent"), Label(kNo));
  EXPECT_EQ(labels("private;urgent"), Label(kNo));
  EXPECT_THROW(labels("spam;urgent"), DataError);
  EXPECT_THROW(labels("urgent; spam"), DataError);
  EXPECT_EQ(labels("spam"), Label(kYes));
}

}  // namespace
}  // namespace quorate::test
