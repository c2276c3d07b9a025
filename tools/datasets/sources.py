"""The original files of each set: where a mirror keeps them, their checksums and their official addresses."""
from datasets.fetch import Source, basename, without_cr

SPAM_PAGE = "http://ecmlpkdd2006.org/challenge.html (labelled evaluation data)"
SENTIMENT_SITE = "https://www.cs.jhu.edu/~mdredze/datasets/sentiment/"
USPS_SITE = "https://hastie.su.domains/ElemStatLearn/datasets/"
MNIST_SITE = "https://ossci-datasets.s3.amazonaws.com/mnist/"


def spam(path: str, size: int, sha256: str, content: str) -> Source:
    return Source(path, size, sha256, content, clean=without_cr, page=SPAM_PAGE)


def reviews(archive: str, path: str, size: int, sha256: str, content: str) -> Source:
    member = path.split("/", 1)[1].removesuffix(".xz")
    return Source(path, size, sha256, content, SENTIMENT_SITE + archive, member, clean=without_cr, page=SENTIMENT_SITE)


def esl_digits(text: bytes) -> bytes:
    """The lines of zip.train and zip.test, whose numbers are written in more than one way, with four decimals each."""
    try:
        lines = [[float(v) for v in line.split()] for line in text.splitlines()]
    except ValueError:
        return text
    return "".join(" ".join(f"{v:.4f}" for v in line) + "\n" for line in lines).encode()


def usps(name: str, path: str, size: int, sha256: str, content: str) -> Source:
    return Source(path, size, sha256, content, USPS_SITE + name, clean=esl_digits)


def mnist(path: str, size: int, sha256: str, content: str) -> Source:
    return Source(path, size, sha256, content, MNIST_SITE + basename(path))


LANDMINE = Source("landmine/LandmineData.mat", 1085456,
                  "2163ab20a80e33a8b65593c48cf283c540599dcb291105e63fa4af2ce24c2bea",
                  url="http://www.ee.duke.edu/~lcarin/LandmineData.zip", member="LandmineData.mat")

SPAM_A = [
    spam("ecml2006_spam/task_a/task_a_u00_eval_lab.tf.xz", 351948,
         "6810b3ede0de0c6e77dd4a1dbcd11c2b9cb0cb1031385e947539ab8e35f30b55",
         "b067310a31af5f551efd2a26adc3f9c487fbeb20fc3322116924edde2f265088"),
    spam("ecml2006_spam/task_a/task_a_u01_eval_lab.tf.xz", 404440,
         "ee218e7161c796833f3e91534d28a2ba1f427fa31c768df0cf1d4f34fc81de77",
         "094636b62ea46b02fb4744200f40b65e3ad11134e1c59ef2bae5ef807c7e4ef4"),
    spam("ecml2006_spam/task_a/task_a_u02_eval_lab.tf.xz", 377604,
         "1184b94f5587c3e2369e6c41167949cfed19ccc8ccfee4171641f7a267b8c94d",
         "b63c35f64a9fcdeb6bd26503520f5f081f7356ffdf2876b91575c4c4fe456f07"),
]

SPAM_B = [
    spam("ecml2006_spam/task_b/task_b_u00_eval_lab.tf.xz", 76592,
         "afd987bef5fd9802d4c3739d245e233cfc2883d0ea612f8317451400c9541979",
         "76bbd7d5051e7ed93be6863e9e1ea760c0438c33f4d40aab9a89bb572845eff2"),
    spam("ecml2006_spam/task_b/task_b_u01_eval_lab.tf.xz", 94108,
         "dc37bccf2826c401c704fafc07bc98b7651677e30ab39d74db53cc6551fcd96b",
         "a21a0445b71b71e7d91efe130c584caa39fe63ef133e87e36459bbd1d1f89da2"),
    spam("ecml2006_spam/task_b/task_b_u02_eval_lab.tf.xz", 118684,
         "50039889d3353904c1625915b0121f8eded8ac0999a179556cc485203b768fbe",
         "9461963d0e8eb85913407adbac88d246ec65e17c44b0dcf3f0f59952793a7d52"),
    spam("ecml2006_spam/task_b/task_b_u03_eval_lab.tf.xz", 76332,
         "ede263df0e18c2d682d3c710969261523db14080a87cf13fdff9d635aeabb4c6",
         "7915d1b155869bb36af5b2c5abcfa3589c925c21d62e684d8290b4ece9cac466"),
    spam("ecml2006_spam/task_b/task_b_u04_eval_lab.tf.xz", 59960,
         "519c45ac23070e3a97309289dec8bc33f754a1820ac9338f2ce49c08ff8492ca",
         "fc0cdaa2f5fea06da1480accf3af65f88089dc6b8792a2dc0cfefc25917ed12f"),
    spam("ecml2006_spam/task_b/task_b_u05_eval_lab.tf.xz", 131204,
         "a41cc6daf51992fe77316edbd16a4db656f107a3bc315627fb649217b56d11f0",
         "a343292f4d43c520063931e797e737010c9e4e83ef01ab8533556a16e670ab22"),
    spam("ecml2006_spam/task_b/task_b_u06_eval_lab.tf.xz", 78308,
         "03d68954e461b592a1ad63263e1b30bbc831d50ee03fab10c3753d5e9e42e39b",
         "82744c9c20869350ed3d55981550122c7f440cdeb5d4ad4da7349b304c61e37f"),
    spam("ecml2006_spam/task_b/task_b_u07_eval_lab.tf.xz", 96368,
         "a01eb76cfcac75d4cc274612c97966eed3670b4578014f69a19572bc1dc249dc",
         "a3fabecfc03a4a1ea8b140e4ddd86683cb1103791e93aa0b9b70cf16f7e31e53"),
    spam("ecml2006_spam/task_b/task_b_u08_eval_lab.tf.xz", 84400,
         "054b3e1a6e5c6ad8c1b4dba33fa08037b8dd3d1f7b3a445f89da9688e7e5af93",
         "1c0defafcade34aebaba6738ecc1871fea53266335e743c47f6c95a1d570c2d9"),
    spam("ecml2006_spam/task_b/task_b_u09_eval_lab.tf.xz", 88612,
         "6e9e44b9c3e75e6f5638240d79544d79ec7b1da92e7cccec86ec6dafbd09f8ae",
         "f556f2fe4606f56f7a8319409e9f8fe117782df95ab104dc749624f2da2a5114"),
    spam("ecml2006_spam/task_b/task_b_u10_eval_lab.tf.xz", 88064,
         "3ea7bd893740777bc3c2aa9871e74090e9dfd6d6d8afe791e480817ad914c377",
         "c9fb683897630b9a43348eef1eb2b3195434daf0ba5944b57dd51ef1093dae81"),
    spam("ecml2006_spam/task_b/task_b_u11_eval_lab.tf.xz", 99408,
         "d9e75c2b03f16fd209d92ab80adebc25d1d19e81ebafff0401a501bd95368aca",
         "9a4692ba855e6201f76344bb2e79056db0caaca58a6532e1bb58cb690b0a26b4"),
    spam("ecml2006_spam/task_b/task_b_u12_eval_lab.tf.xz", 74364,
         "de28e1133cc47bfdb6a2ecf9f20057a307d915a026d41e397f7caa4f2715c118",
         "e31ba5fddad7f05b1260c6f04ed88a43a7f73ebb81dfc5189cfa2163b00900aa"),
    spam("ecml2006_spam/task_b/task_b_u13_eval_lab.tf.xz", 114036,
         "ed1accc23823e795d99c5b4173fd0a2f02726236e8214f497966f02d9fd6c66f",
         "f024308b6454ee7735ddbfbfe87c0e011e93d15040a7181ab64680a022cb2434"),
    spam("ecml2006_spam/task_b/task_b_u14_eval_lab.tf.xz", 77996,
         "e116f660287f170948cbfcb4e664e0db06818fff53e51b98f3b098311c2ff8a8",
         "a291c4b52a2445f388e17bcb2c61660287d087a94e2d1f1a6fd796b59e91dad6"),
]

SENTIMENT = [
    reviews("processed_acl.tar.gz", "amazon_processed_acl/books/negative.review.xz", 781788,
            "720a3c7ce6ef88b7ac905749253e3c216688988e99a3eed2450f425599cb2195",
            "42e4d7e63f429e396de0db87b814f8c6a4b4948d34c94524725b0fe2944a0ff4"),
    reviews("processed_acl.tar.gz", "amazon_processed_acl/books/positive.review.xz", 771544,
            "f073c296c23b7a08eee668084216cb5efba04d5b6f9f2a0fc61093c66080ae13",
            "d27a35a59e99b2c2d56731cad8d63870f8a3b9063a70bf8c18862e0a107cdd02"),
    reviews("processed_acl.tar.gz", "amazon_processed_acl/dvd/negative.review.xz", 699428,
            "c6919aadeaea099052ed302af5a002105fc1268ae1c6109eb98d24c90521776c",
            "9f0c977cf863f361f1f9961dc9e8c2b88630902da3eb5fd880146445144c355d"),
    reviews("processed_acl.tar.gz", "amazon_processed_acl/dvd/positive.review.xz", 807592,
            "0220d6334e849cbc1a45aa48251b5dde269def5d673fbf113e83279d9368152f",
            "7e3a2655f9afd141bba569d0df6a4444f6bfa3c28daf243f21125c757940b563"),
    reviews("processed_acl.tar.gz", "amazon_processed_acl/electronics/negative.review.xz", 472608,
            "100d9f66455d883c2d09b4407b0b3688f683fd31630acd3b06514676427222d0",
            "497d95c1ce079d2db672f9d2efa9cc02ba4ebd2a525f7b2495233305def11616"),
    reviews("processed_acl.tar.gz", "amazon_processed_acl/electronics/positive.review.xz", 472160,
            "2f2adb3d8c6c5dfd0f269024d5098a77b3efa29abddb3b71c773f68601241253",
            "38d0ee5fd4147cfaff427b7f8c1ea9aacbb1fd383d51676288b7af5947fe039f"),
    reviews("processed_acl.tar.gz", "amazon_processed_acl/kitchen/negative.review.xz", 397580,
            "5a6e5deb004f50ab8de5e903f972823e1a659e036b128ee95695cd93847b667f",
            "674510d22f8f0b27790d323ef8633408777e92c122e801ee4ba02bb001d1d798"),
    reviews("processed_acl.tar.gz", "amazon_processed_acl/kitchen/positive.review.xz", 400812,
            "e91d490e697a538f58752ad788a62f091f195bdd8b57dc54f0d83fb175019fb1",
            "30fd84894433ee9dd7f7aa3da6f858811104e364528719be2d77372295c7d3b3"),
]

SENTIMENT_TEXT = [
    reviews("domain_sentiment_data.tar.gz", "amazon_sorted_acl_xml/books/negative.review.xz", 417412,
            "3ed529fd34b1b6da45ca9a58f9e4a6889c7c262b8428147dcbfb0c80023186c3",
            "562c58de7f739c9af2d62377ea2253ff73e89f69c84a332088f341cdb0e09660"),
    reviews("domain_sentiment_data.tar.gz", "amazon_sorted_acl_xml/books/positive.review.xz", 416100,
            "42776dc82d050c6a8df1e768824af1cc3487d4c24e591cb6da837ec7720c339f",
            "24323836c9ce9601ac43b7ab45fff1ac9b82efda02f1269bf3e8cdc4b019a99a"),
    reviews("domain_sentiment_data.tar.gz", "amazon_sorted_acl_xml/dvd/negative.review.xz", 440880,
            "3003c7621382ef9692abdabd7b24eeb1d9eee3feff53f07c1be6e1d86eab6c8a",
            "de1b539d29dc7edfbabf0ca4b1bce4e296d486533f3730012e4b49e36e762fa3"),
    reviews("domain_sentiment_data.tar.gz", "amazon_sorted_acl_xml/dvd/positive.review.xz", 487920,
            "d9117423f019b277e7bd479a571ad9b67199dcc3759ca34ff6b51c5ca7f22618",
            "fcf5207f79aa8af4910b5793c15fe90f25eb39501f9f4bdbd8f60a817224e28d"),
    reviews("domain_sentiment_data.tar.gz", "amazon_sorted_acl_xml/electronics/negative.review.xz", 268532,
            "e19594d81dc736b40e6f31cfb1d65430a0c7293b01474a7201647507546c52c3",
            "571287120d63e289753231804f33169b2ec4348ca6d24fa0d781a3a08e6376ff"),
    reviews("domain_sentiment_data.tar.gz", "amazon_sorted_acl_xml/electronics/positive.review.xz", 270136,
            "e18b4283f0ff91e77ebe04cb70d5f80e87356ab8bb6dbbe00a1a1abc81a077f5",
            "98daefad1056ec8d98fe910bdb50ae282695b9c2b89c2bc1513b9d2203b38a11"),
    reviews("domain_sentiment_data.tar.gz", "amazon_sorted_acl_xml/kitchen_&_housewares/negative.review.xz", 233876,
            "3b0ec61bc14e396c5cc46e47acd2f1a07fe14bc29eecc94b0bb11687b47b8597",
            "0ad1fa1f4539b47933fcef01be674b1246d1dc01403197c1439004cbaf4b543e"),
    reviews("domain_sentiment_data.tar.gz", "amazon_sorted_acl_xml/kitchen_&_housewares/positive.review.xz", 236116,
            "f2093a0ac9f0a0c16ec2668e1ceb19d06392bcc68bdd387604f4d050a5928b65",
            "90ebec2b5a6ac040e16836c32b8efbd92ce98804b916c6367f7ade3b8d536798"),
]

# The mirror's posts are a copy of the official archive's with another spelling of some bytes beyond ASCII.
NEWS = Source("20newsgroups/20news-bydate.tar.xz", 8671464,
              "d4ce3cb6eccb33cafc51e7124bc79409d668b8943d8d0504faf04b39c3519aa0",
              "1faec04deb76885ecd9af7d2da498a5fb7709baf3da191bb8b59c5ca79ff3c6c",
              "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz",
              official="8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610")

# The official archive holds the same rows as one matrix, school_b.mat.
SCHOOL = Source("school/school.mat", 44759,
                "57fb3238fdd03a9aa17276e2ce18d9bbb5d128c3261e794fe6233b58b6909068",
                url="http://ttic.uchicago.edu/~argyriou/code/mtl_feat/school_splits.tar", member="school_b.mat",
                official="973f1ca99d0d41a838ec6ae86001a48e7b69391eb74646b9e4fc54f62866a146")

USPS = [
    usps("zip.test.gz", "usps/derived_zip.test.xz", 377264,
         "a53c3227470ba0809f347d138fb3040c0eb102e55d917344a8f3c0ad092762f8",
         "a48ccdba0c641995485853441e09eadd2305ffc39230cd16f6cf50a640fe87d8"),
    usps("zip.train.gz", "usps/derived_zip.train.xz", 1327088,
         "82990c9c10844068e8bf4ad4c6e506832225ce6b60e6068bf5ccf8c107ef941d",
         "fe0995bb03cea1994752e58c13dc873b734ae8c34d073d55db45477598b2aabc"),
]

MNIST = [
    mnist("mnist/t10k-images-idx3-ubyte.gz", 1648877,
          "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
          "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
    mnist("mnist/t10k-labels-idx1-ubyte.gz", 4542,
          "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
          "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
    mnist("mnist/train-images-idx3-ubyte.gz", 9630610,
          "71524e2cd1ad2968737f7f2f2ff69cbfc32df8ccddff51593f7cb2d4e0eb5b64",
          "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
    mnist("mnist/train-labels-idx1-ubyte.gz", 28881,
          "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
          "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
]

VOWEL = Source("vowel_deterding/vowel-context.data", 73565,
               "d919d6e57d0f41e58639404bceb9de9a615a4fe9019cb38a399db3eebefd5b9e",
               url="https://archive.ics.uci.edu/ml/machine-learning-databases/undocumented/connectionist-bench/vowel/"
                   "vowel-context.data", clean=without_cr)

WISDM = Source("wisdm/wisdm.csv.xz", 238792, "f44df064b76f6c2fce24a3fa086c23a0e6b1862060db103c97ee0eaa944869d0",
               "3ec1d432801ba185fd65f9fcbbaa51b839ce2d4a38cbc5b366f396f40ad89afb",
               page="https://www.cis.fordham.edu/wisdm/dataset.php")
